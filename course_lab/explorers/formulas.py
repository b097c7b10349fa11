"""Explorers that need no data: they compute a formula from their controls alone."""

from course_lab.explorers.controls import Choice, Slider, Text, Tick
from course_lab.explorers.explorer import Explorer

BASE = Slider(2, 1_000_000, 10_000, ratio=True)
LARGER_BASE = Slider(10, 1_000_000, 10_000, ratio=True)

frequencies = Explorer(
    "frequencies",
    "the sinusoidal encoding, its clock hands and its table",
    "Hand 0 and another hand on circles at two positions, and how far apart each hand holds the "
    "two; the table as colours, the hand's two columns as waves, and the wavelength of every hand.",
    {
        "first": Slider(0, 2000, 10, label="position"),
        "second": Slider(0, 2000, 20, label="and position"),
        "pair": Slider(0, 31, 3, label="hand"),
        "base": BASE,
        "d_model": Slider(8, 128, 64, step=2, label="width"),
        "length": Slider(8, 256, 128),
    },
)

previous_token = Explorer(
    "previous_token",
    "a head that looks k tokens back, without training",
    "Queries are the sinusoidal vectors of 48 positions, 128 wide, and keys the same vectors "
    "shifted by k: a corner of the shift, the attention behind a causal mask, and one query's "
    "weights.",
    {
        "k": Slider(0, 16, 5, label="k (positions)"),
        "gain": Slider(0.5, 40.0, 10.0, step=0.5),
        "query": Slider(0, 47, 47),
    },
)

turned_pair = Explorer(
    "turned_pair",
    "one pair of numbers that RoPE turns",
    "A query and a key as arrows, before and after they turn with their positions p and r by θ "
    "radians a position, and their product at all positions. One slider moves both.",
    {
        "p": Slider(0, 20, 12, label="p (query)"),
        "r": Slider(0, 20, 9, label="r (key)"),
        "both": Slider(0, 20, 0, label="both moved on by"),
        "theta": Slider(0.05, 1.5, 0.3, step=0.05, label="θ"),
    },
)

wanted_distance = Explorer(
    "wanted_distance",
    "RoPE's score by distance",
    "Two curves: the score of a key equal to its query, and of one made for the wanted distance.",
    {
        "distance": Slider(0, 250, 50, label="wanted"),
        "base": LARGER_BASE,
        "d_head": Slider(4, 128, 64, step=2, label="head width"),
    },
)

profile = Explorer(
    "profile",
    "a score by distance, drawn and fitted by RoPE",
    "A wished score for each distance up to 64, drawn by hand or chosen; the score of the query "
    "and key that come nearest to it, by least squares; what that score is up to distance 256; and "
    "the size of each pair of features. A price on size keeps q and k small.",
    {
        "wish": Choice(
            (
                "every eighth",
                "12 back",
                "the nearest 16",
                "a price on distance",
                "8 or 40 back",
                "my own",
            )
        ),
        "d_head": Slider(4, 128, 64, step=2, label="head width"),
        "base": LARGER_BASE,
        "price": Slider(0.001, 10, 0.1, ratio=True, label="price of size"),
        "distance": Slider(0, 64, 12, step=4, label="point at"),
        "height": Slider(-1.0, 1.0, 0.0, step=0.05, label="its height"),
    },
)

buckets = Explorer(
    "buckets",
    "T5's buckets",
    "The bucket of every offset up to 200 positions, as a curve and as a matrix of 40 tokens.",
    {
        "n_buckets": Slider(4, 64, 32, step=2),
        "max_distance": Slider(8, 200, 128),
        "direction": Choice(("both", "behind only")),
    },
)

distance_cost = Explorer(
    "distance_cost",
    "one ALiBi head over tokens of equal scores",
    "Its bias, its attention, and the weights of one query.",
    {
        "heads": Slider(1, 32, 8),
        "head": Slider(0, 31, 3),
        "length": Slider(16, 192, 96, step=8),
        "symmetric": Tick(),
    },
)

price = Explorer(
    "price",
    "a price on distance, drawn by hand",
    "Each of four heads likes one distance and charges for every step away from it: what it adds "
    "to the score, and the weights that this makes of equal scores. The score of one key, the "
    "square, may be higher. A circle is where a head's price is 0, the chosen head's around "
    "those of heads that share it. A dashed line ends the keys that hold 95 % of the chosen "
    "head's weight. It starts steeper than ALiBi.",
    {
        "head": Slider(1, 4, 1, label="head to draw"),
        "peak": Slider(0, 16, 0, label="its peak (back)"),
        "slope": Slider(1 / 256, 4.0, 2.0, ratio=True, label="price a step"),
        "higher": Slider(0.0, 5.0, 2.0, step=0.5, label="key 10 back scores higher by"),
        "sight": Choice(("all keys", "12 keys", "3 keys"), label="in sight"),
    },
)

counting = Explorer(
    "counting",
    "a CoPE head that counts a token",
    "For each token of a text: its gate, the count from it to the end of the text, and the weight "
    "that the last token gives it. The gates of the counted token open, all others shut, and the "
    "last token likes one count.",
    {
        "text": Text(
            "I saw a fox. It hid. Then two of its cubs came. We went. No one spoke.", longest=200
        ),
        "counted": Text(".", longest=20, label="count every"),
        "wanted": Slider(1, 8, 3, label="wanted count"),
        "gain": Slider(0.5, 10.0, 4.0, step=0.5),
    },
)
