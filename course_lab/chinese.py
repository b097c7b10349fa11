"""Chinese words as labels of figures, in pinyin where no font has their characters."""

from functools import cache

from matplotlib import font_manager

PINYIN = {"我": "wǒ", "爱": "ài", "你": "nǐ"}
FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Noto Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Arial Unicode MS",
)


@cache
def chinese_font() -> str | None:
    """Name of an installed font with Chinese characters, or None."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next((name for name in FONTS if name in installed), None)


def label(text: str, pinyin: str | None = None) -> str:
    """``text``; or its pinyin, if that is given and the characters are missing here."""
    return text if pinyin is None or text.isascii() or chinese_font() else pinyin


def labels(words: list[str], pinyin: dict[str, str]) -> list[str]:
    """Words as axis labels: each through :func:`label` with its pinyin, if it has one."""
    return [label(word, pinyin.get(word)) for word in words]
