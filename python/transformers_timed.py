"""Forward passes of a model of Transformers as its users run it, timed: as it is, without attention, and exchanged."""

import copy
import json
import time

import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from rfa.torch import use
from rfa.torch._layers import LAYER, current, exchange


class Timed:
    """
    Args:
        plain: a model as it was loaded.
    """

    def __init__(self, plain, causal, device):
        self.plain, self.causal, self.device = plain, causal, device
        self.made = {}

    def model(self, method, layers):
        """The model with a method in some of its layers, with the weights that all of them share."""
        key = json.dumps([method, layers])
        if key not in self.made:
            own = shared(self.plain)
            if method and method["name"] == "identity":
                exchange(own, lambda: passing_in(layers))
            elif method:
                options = {**method["options"], "seed": method["seed"]}
                use(own, method["name"], layers=layers, **options)
            self.made[key] = own.eval()
        return self.made[key]

    def output(self, method, layers, inputs):
        decoder = {"use_cache": False} if self.causal else {}
        return self.model(method, layers)(**inputs, return_dict=True, **decoder)[0]

    def times(self, request, inputs):
        """At least one run, at most `runs`, no new one after `ns`, in ns."""
        asked = request["method"], request["layers"]
        found, begin = [], time.perf_counter_ns()
        while len(found) < request["runs"] and (not found or time.perf_counter_ns() - begin < request["ns"]):
            self.wait()
            start = time.perf_counter_ns()
            self.output(*asked, inputs)
            self.wait()
            found.append(time.perf_counter_ns() - start)
        return found

    def wait(self):
        """Until the device has done what it was asked for."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        elif self.device.type == "mps":
            torch.mps.synchronize()


def shared(model):
    """A copy with the same weights in memory."""
    return copy.deepcopy(model, {id(each): each for each in (*model.parameters(), *model.buffers())})


def passing_in(layers):
    """The name of an attention that passes values on in some layers, of the heads that a query shares."""
    name = f"rfa-passing-{layers}"
    exact = AttentionInterface()["sdpa"]

    def passing(module, query, key, value, attention_mask=None, **extras):
        running = current(module)
        if running is not None:
            running.exchanged = True
        if module.__dict__[LAYER] not in layers:
            return exact(module, query, key, value, attention_mask, **extras)
        out = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
        return out.transpose(1, 2).contiguous(), None

    AttentionInterface.register(name, passing)
    AttentionMaskInterface.register(name, sdpa_mask)
    return name
