"""The parent of trials: finds the input, starts trials one by one, keeps what they say."""
