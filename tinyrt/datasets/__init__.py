"""Folders of images, sounds and tables as arrays to train, calibrate and evaluate with."""

from tinyrt.datasets.dataset import Dataset as Dataset
from tinyrt.datasets.images import load_images as load_images
from tinyrt.datasets.series import load_series as load_series
from tinyrt.datasets.sounds import load_sounds as load_sounds
