"""Multi-head attention with four doors, and the cache of what it has read."""

from course_utils.attention.attention import MultiHeadAttention, attention_weights
from course_utils.attention.kv_cache import FixedCache, KVCache

__all__ = ["FixedCache", "KVCache", "MultiHeadAttention", "attention_weights"]
