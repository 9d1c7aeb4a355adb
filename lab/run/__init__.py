"""The parent of trials: finds the input, starts trials one after the other, keeps what they say."""
