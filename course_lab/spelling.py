"""How the course prints the names of encodings; code calls them as ``create`` does."""

PRINTED = {
    "none": "no encoding",
    "complex_order": "complex order",
    "rope": "RoPE",
    "xpos": "xPos",
    "alibi": "ALiBi",
    "kerple": "Kerple",
    "t5": "T5",
    "fire": "FIRE",
    "sandwich": "Sandwich",
    "shaw": "Shaw",
    "transformer_xl": "Transformer-XL",
    "deberta": "DeBERTa",
    "cope": "CoPE",
    "floater": "FLOATER",
    "steep": "steep lines",  # lesson 06's
}


def printed(name: str) -> str:
    """The name of an encoding as the course prints it, or the name itself."""
    return PRINTED.get(name, name)
