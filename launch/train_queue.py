# ruff: noqa: INP001 (a script outside of a package)
"""Train a queue policy by REINFORCE on `dardis/Queue-v0`, and compare it on later jobs of the trace.

The first half of the trace trains; the comparison replays the jobs behind it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from learned_rule import WEIGHTS, Weights, scores

import dardis
import dardis.gym
from dardis.engine.clock import steady_s
from dardis.model.randomness import stream

JOBS, WINDOWS, PLAYS, HIDDEN = 256, 4, 8, 16
"""Jobs of an episode; episodes of an update: parts of the trace, and plays of each."""
KNOWN = [0, 1, 3]
"""Columns of a job: wait, walltime, share."""


def play(env: Any, first: int, weights: Weights, draw: np.random.Generator) -> tuple[float, list[Any]]:  # noqa: ANN401
    """Play an episode; return its reward, and features and place of each pick."""
    observation, info = env.reset(options={"first": first})
    picks, over, reward = [], False, 0.0
    while not over:
        features = observation["jobs"][: int(info["action_mask"].sum()), KNOWN]
        place = int((scores(features, weights) + draw.gumbel(size=len(features))).argmax())
        picks.append((features, place))
        observation, reward, over, _, info = env.step(place)
    return reward, picks


def train(env: Any, minutes: float, seed: int) -> Weights:  # noqa: ANN401 (wrapped environment)
    """Train for so many minutes."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    draw = stream(seed, "train-queue")
    shapes = {"first": (len(KNOWN), HIDDEN), "bias": (HIDDEN,), "last": (HIDDEN,)}
    net = {name: torch.nn.Parameter(0.5 * torch.randn(shape, dtype=torch.float64)) for name, shape in shapes.items()}
    steps = torch.optim.Adam(net.values(), lr=0.02)
    begun, update = steady_s(), 0
    while steady_s() - begun < 60 * minutes:
        weights = {name: value.detach().numpy() for name, value in net.items()}
        loss, told = torch.zeros(()), []
        for _ in range(WINDOWS):
            first = int(draw.integers(len(env.unwrapped.jobs) - JOBS + 1))
            plays = [play(env, first, weights, draw) for _ in range(PLAYS)]
            rewards = np.array([reward for reward, _ in plays])
            told.append(rewards.mean())
            for gain, (_, picks) in zip((rewards - rewards.mean()) / (rewards.std() + 1e-9), plays, strict=True):
                if picks and abs(gain) > 1e-3:
                    loss = loss - float(gain) * _log_chance(net, picks)
        if loss.requires_grad:
            steps.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.values(), 1.0)
            steps.step()
        update += 1
        if sys.stderr.isatty():
            sys.stderr.write(
                f"\r{update} updates, {steady_s() - begun:.0f} s, mean bounded slowdown {-np.mean(told):.1f}  "
            )
    sys.stderr.write(f"{update} updates of {WINDOWS * PLAYS} episodes of {JOBS} jobs\n")
    return {name: value.detach().numpy().copy() for name, value in net.items()}


def _log_chance(net: Any, picks: list[Any]) -> Any:  # noqa: ANN401 (tensors)
    """Sum of the logarithms of the picks' probabilities."""
    import torch

    most = max(len(features) for features, _ in picks)
    features, absent = np.zeros((len(picks), most, len(KNOWN))), np.ones((len(picks), most), dtype=bool)
    for row, (seen, _) in enumerate(picks):
        features[row, : len(seen)], absent[row, : len(seen)] = seen, False
    hidden = torch.tanh(torch.as_tensor(features) @ net["first"] + net["bias"])
    logits = (hidden @ net["last"]).masked_fill(torch.as_tensor(absent), -np.inf)
    places = torch.as_tensor([place for _, place in picks])
    return torch.log_softmax(logits, 1)[torch.arange(len(picks)), places].sum() / len(picks)


def main() -> None:
    """Train, write the weights, and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("platform", type=Path)
    parser.add_argument("--minutes", type=float, default=4.0, help="time for training (4)")
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs of the comparison (20,000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", dardis.DardisWarning)
    frame = dardis.read_trace(options.trace).frame
    half = len(frame) // 2
    platform = dardis.read_platform(options.platform)
    early = dardis.Trace(frame.iloc[:half], name="training")
    later = dardis.Trace(frame.iloc[half : half + options.jobs], name="later jobs")
    env = gymnasium.make("dardis/Queue-v0", trace=early, platform=platform, jobs_per_episode=JOBS)
    weights = train(env, options.minutes, options.seed)
    WEIGHTS.parent.mkdir(parents=True, exist_ok=True)
    np.savez(WEIGHTS, **weights)
    rules = ["easy", "easy:rule=unicef", "easy:rule=f1", "dardis-late", "learned_rule:LearnedRule"]
    found = dardis.compare(later, platform, rules, recorded=False)
    print(found.table[["dispatcher", "mean_wait_s_mean", "mean_bounded_slowdown_mean"]].to_string(index=False))  # noqa: T201 (its result)


if __name__ == "__main__":
    main()
