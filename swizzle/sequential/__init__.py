"""The sequential part of the language: specifications and the top level of `.swz` files, interpreted within bounds."""
