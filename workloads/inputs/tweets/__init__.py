"""Input of `wordcount`, `paircount` and `longest_tweet_per_hashtag`: tweets (STRETCH, 8.1).

All three workloads read the same datasets.
"""
