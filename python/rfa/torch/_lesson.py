"""Steps of Adam, with an eye on held-out texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .._errors import InputError, RunError
from ._aims import Aim, Batch
from ._texts import Parts

#: Looks at held-out texts in all, and steps between two of them at least.
_LOOKS, _APART = 20, 5
#: Looks without a lower loss after which learning ends.
_PATIENCE = 10
#: Steps in which the rate rises.
_WARM_UP = 10
#: The longest gradient.
_LONGEST = 1.0


@dataclass(frozen=True)
class HeldOut:
    """Mean loss on held-out texts, with its 95 % interval over texts; None: of one text."""

    mean: float
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        between = "" if self.interval is None else " [{:.3g}, {:.3g}]".format(*self.interval)
        return f"{self.mean:.3g}{between}"


def held_out(totals: Tensor, counts: Tensor) -> HeldOut:
    """From sums over the tokens of each text, and their numbers: a ratio of two sums over texts."""
    mean = totals.sum() / counts.sum()
    degrees = len(totals) - 1
    if degrees == 0 or not bool(mean.isfinite()):
        return HeldOut(float(mean))
    variance = (totals - mean * counts).square().sum() * len(totals) / degrees
    half = _student(degrees) * float(variance.sqrt() / counts.sum())
    return HeldOut(float(mean), (float(mean) - half, float(mean) + half))


#: 97.5 % quantiles of Student's t with 1, 2 and 3 degrees of freedom.
_FEW = (12.706, 4.3027, 3.1824)


def _student(degrees: int) -> float:
    """The 97.5 % quantile of Student's t, within 0.3 % (Abramowitz and Stegun, 26.7.5)."""
    if degrees <= len(_FEW):
        return _FEW[degrees - 1]
    z = 1.959964
    second, third = 5 * z**5 + 16 * z**3 + 3 * z, 3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z
    return z + (z**3 + z) / (4 * degrees) + second / (96 * degrees**2) + third / (384 * degrees**3)


@dataclass
class _Best:
    """The lowest loss on held-out texts, and what was learned then."""

    step: int
    loss: HeldOut
    tensors: list[Tensor]


class Lesson:
    """Steps of Adam, with an eye on held-out texts."""

    def __init__(
        self,
        original: nn.Module,
        student: nn.Module,
        aim: Aim,
        groups: dict[str, list[Tensor]],
        say: Callable[[str], None],
    ) -> None:
        self.original, self.student, self.aim, self.groups, self.say = original, student, aim, groups, say
        self.tensors = [tensor for group in groups.values() for tensor in group]
        self.step, self.before = 0, HeldOut(math.nan)
        self.best = _Best(0, self.before, [])

    def learn(
        self,
        parts: Parts,
        learned: list[list[int]],
        held: list[Batch],
        steps: int,
        rates: dict[str, float],
    ) -> str:
        """Learns, and leaves the step with the lowest loss. Returns why it stopped."""
        self.before = self._measured(held)
        if not math.isfinite(self.before.mean):
            raise RunError(
                f"distil: expected a finite loss before the first step, got {self.before.mean}",
                ["rfa tune for a start", "another method"],
                "NOT_FINITE",
            )
        self._keep(self.before)
        adam = torch.optim.Adam([{"params": own, "lr": rates[name]} for name, own in self.groups.items()])
        shape = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: _share(step, steps))
        try:
            stopped = self._steps(adam, shape, parts.shuffled(learned), held, steps)
        except KeyboardInterrupt:
            stopped = "interrupted"
        with torch.no_grad():
            for tensor, kept in zip(self.tensors, self.best.tensors, strict=True):
                tensor.copy_(kept)
        return stopped

    def _steps(
        self,
        adam: torch.optim.Optimizer,
        shape: torch.optim.lr_scheduler.LambdaLR,
        batches: Generator[Batch, None, None],
        held: list[Batch],
        steps: int,
    ) -> str:
        every = min(steps, max(_APART, math.ceil(steps / _LOOKS)))
        while self.step < steps:
            if not self._stepped(adam, next(batches)):
                return "not_finite"
            shape.step()
            self.step += 1
            if self.step % every and self.step < steps:
                continue
            loss = self._measured(held)
            self.say(f"step {self.step} of {steps}: {loss} on held-out texts ({self.before.mean:.3g} before)")
            if not math.isfinite(loss.mean):
                return "not_finite"
            if loss.mean < self.best.loss.mean:
                self._keep(loss)
            elif self.step - self.best.step >= _PATIENCE * every:
                return "no_better"
        return "steps"

    def _stepped(self, adam: torch.optim.Optimizer, batch: Batch) -> bool:
        """Takes a step, unless its loss or its gradient is not finite."""
        adam.zero_grad()
        with _not_finite_is_nan() as found:
            found.value = self.aim.compare(self.original, self.student, batch).loss
        if not bool(torch.isfinite(found.value)):
            return False
        found.value.backward()
        norm = nn.utils.clip_grad_norm_(self.tensors, _LONGEST)
        if not bool(torch.isfinite(norm)):
            return False
        adam.step()
        return True

    def _measured(self, batches: list[Batch]) -> HeldOut:
        with torch.no_grad(), _not_finite_is_nan() as found:
            own = [self.aim.compare(self.original, self.student, batch) for batch in batches]
            found.value = torch.cat([each.totals for each in own]).double()
            return held_out(found.value, torch.cat([each.counts for each in own]))
        return HeldOut(math.nan)

    def _keep(self, loss: HeldOut) -> None:
        self.best = _Best(self.step, loss, [tensor.detach().clone() for tensor in self.tensors])


@dataclass
class _Found:
    value: Tensor


@contextmanager
def _not_finite_is_nan() -> Generator[_Found, None, None]:
    """Attention refuses queries that are not finite: where steps made them so, the loss is NaN."""
    found = _Found(torch.tensor(math.nan))
    try:
        yield found
    except InputError as error:
        if error.code != "NOT_FINITE":
            raise


def _share(step: int, steps: int) -> float:
    """Of the rate: rises in a few steps, and falls to zero."""
    return min(1.0, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2
