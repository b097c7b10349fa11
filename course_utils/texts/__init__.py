"""What models read: the shipped files, texts byte by byte, sentences, and tasks made from them."""
