"""Multi-head attention with four doors, and the cache of what it has read."""

from course_utils.attention.attention import MultiHeadAttention as MultiHeadAttention
from course_utils.attention.attention import attention_weights as attention_weights
from course_utils.attention.kv_cache import FixedCache as FixedCache
from course_utils.attention.kv_cache import KVCache as KVCache
from course_utils.attention.kv_cache import document_mask as document_mask
