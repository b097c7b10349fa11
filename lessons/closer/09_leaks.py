# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 09 · Further doors: a closer look
#
# Other borders, and when a network without padding is told its place after all. It builds on
# [lesson 09](../09_further_doors.ipynb). Each section stands alone.
#
# **Time:** about 10 minutes.
