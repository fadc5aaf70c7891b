"""Writes the layers of a model by rfa_export: python exporters.py MODEL TEXTS FOLDER"""

import pathlib
import sys

import torch
from transformers import AutoModel, AutoTokenizer

sys.path.insert(0, "python")
import rfa_export

model_folder, texts, output = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(model_folder)
model = AutoModel.from_pretrained(model_folder, dtype=torch.float32).eval()
lines = pathlib.Path(texts).read_text().splitlines()
inputs = tokenizer(lines, padding=True, padding_side="right", return_tensors="pt")
with torch.no_grad(), rfa_export.capture(model, output):
    model(**inputs)
