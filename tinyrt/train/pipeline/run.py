"""The stages: prune, train in float, train for int8, and measure what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError, DefectError, UnsupportedError
from tinyrt.floatmath.parallel import one_thread
from tinyrt.ir import Graph
from tinyrt.memory import schedule
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.schemes import ACTIVATIONS
from tinyrt.train.channels import channel_scores, macs_of, prune_channels, prune_to_fit
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.ends import ends_of, mixes_samples
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.graph_model import GraphModel, GraphModule
from tinyrt.train.history import Epoch
from tinyrt.train.optim import Adam, Optimizer
from tinyrt.train.pipeline.lessons import Teacher, answers_at_ends, lessons_of
from tinyrt.train.pipeline.outcome import Outcome, OutputFigures, zero_weights
from tinyrt.train.pipeline.samples import Samples, digest, split
from tinyrt.train.pipeline.setting import Pruned, QatSetting
from tinyrt.train.pipeline.widths import Search, WidthChoice, choose_widths
from tinyrt.train.prune import Pruner, Schedule
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.qat_weights import with_norms
from tinyrt.train.recipes.recipe import Training
from tinyrt.train.recipes.stages import CALIBRATION_SAMPLES, FROZEN, MULTIPLE
from tinyrt.train.widths.model import TwoWidthModel
from tinyrt.train.widths.plan import Size

BATCH = 64
"""Samples that answers are computed for at once."""

OnStage = Callable[[str], None]


def file_size(graph: Graph) -> int:
    """Bytes of a graph's file, where nothing is carried in it."""
    return len(write_tflite(schedule(graph)))


def train_for_int8(
    source: Graph,
    samples: Samples,
    setting: QatSetting,
    *,
    teacher: Graph | None = None,
    finish: Callable[[Graph], Graph] = lambda graph: graph,
    fits: Callable[[Graph], bool] | None = None,
    size: Size = file_size,
    parts: tuple[Array, Array] | None = None,
    on_stage: OnStage = lambda what: None,
) -> Outcome:
    """Prune a float model, train it, train it for int8.

    Args:
        source: the float model as it was imported, batch 1.
        samples: what it learns.
        setting: the user's choices.
        teacher: what it learns from beside the labels; where an output has none, by default the
            float model itself.
        finish: what is still done to the int8 graph, without changing an answer.
        fits: whether an int8 graph costs as little as it may; as few channels as that takes are
            pruned, and what is left is trained in float first.
        size: bytes of an int8 graph's file, for the setting's ``max_bytes``.
        parts: numbers of the samples to train on, and of those held out, in place of those that
            the setting draws.
        on_stage: called with what is done next, in words.

    Raises:
        BudgetError: no number of channels makes the model fit, or no choice of int4 layers is
            small enough.
        DataError: samples, labels or teacher do not fit the model.
        DefectError: the int8 graph does not answer what the model in training did.
        UnsupportedError: the model has something that cannot be trained or computed in integers.

    """
    return _Run(source, samples, setting, teacher, on_stage, parts, size).outcome(finish, fits)


class _Run:
    """One model's way through the stages."""

    def __init__(
        self,
        source: Graph,
        samples: Samples,
        setting: QatSetting,
        teacher: Graph | None,
        on_stage: OnStage,
        parts: tuple[Array, Array] | None = None,
        size: Size = file_size,
    ) -> None:
        self.samples, self.setting, self.say, self.size = samples, setting, on_stage, size
        self.graph = optimize(source)
        # Norms that see one sample at a time would learn its statistics, not a batch's.
        self.source = self.graph if mixes_samples(self.graph) else with_norms(source)
        if teacher is None and set(self.graph.outputs) - set(samples.labels):
            teacher = self.graph
        taught = None
        if teacher is not None:
            taught = Teacher(teacher, answers_at_ends(teacher, samples.inputs))
        self.lessons = lessons_of(self.graph, samples.labels, taught, setting.teaching)
        self.training, self.held = parts or split(
            self.lessons, len(samples), setting.validation, setting.seed
        )

    def outcome(
        self, finish: Callable[[Graph], Graph], fits: Callable[[Graph], bool] | None
    ) -> Outcome:
        """All stages."""
        with one_thread():
            source = self.source
            if fits is not None:
                source = self._fitted(lambda graph: fits(finish(graph)))
            source, float_history = self._in_float(source, shrunk=source is not self.source)
            model, widths = self._in_int8(source)
            before, start = self._answers(model), model.state_dict()
            history = self._fit_int8(model)
            best = self._best_epoch(model, history, self._score(before), start)
        graph = finish(model.deployed())
        trained = self._answers(model)
        deployed = self._deployed(graph, trained)
        in_float = answers_at_ends(self.graph, self.samples.rows(self.held))
        figures = tuple(
            OutputFigures(
                lesson.name,
                lesson.kind,
                lesson.learns_from,
                lesson.measure,
                *(lesson.figure(a[i], self.held) for a in (in_float, before, trained, deployed)),
            )
            for i, lesson in enumerate(self.lessons)
        )
        return Outcome(
            graph=graph,
            figures=figures,
            float_history=float_history,
            history=history,
            best_epoch=best,
            int4_layers=widths.int4_layers,
            widths=widths.layers,
            width_history=widths.history,
            float_macs=macs_of(self.graph),
            macs=macs_of(graph),
            zero_weights=zero_weights(graph),
            samples=len(self.training),
            held_out=len(self.held),
        )

    def _fitted(self, fits: Callable[[Graph], bool]) -> Graph:
        """The float model without as few channels as make its int8 graph fit."""
        self.say("pruning channels until the model fits")

        def judged(smaller: Graph) -> bool:
            try:
                model, _ = self._in_int8(smaller, searching=False)
            except BudgetError:  # not even with int4 everywhere
                return False
            return fits(model.deployed())

        fitted = prune_to_fit(self.source, self._scores(), judged, multiple=MULTIPLE)
        if fitted is None:
            raise BudgetError(
                "no number of channels makes the model fit",
                expected="limits that what is left of each layer keeps",
                hint="wider limits, --scheme int4, or a model with fewer layers",
            )
        fits_whole = macs_of(fitted) == macs_of(self.source)
        return self.source if fits_whole else fitted

    def _scores(self) -> dict[str, Array]:
        """How much each channel matters to what the model learns."""
        rows = self.training
        return channel_scores(GraphModel(self.source), rows, rows, objective=self._objective)

    def _in_float(self, source: Graph, *, shrunk: bool) -> tuple[Graph, tuple[Epoch, ...]]:
        """The float model, pruned and trained on, as training for int8 starts from it."""
        setting = self.setting
        pruning, epochs = setting.pruning, setting.float_epochs
        if shrunk and setting.finetune is None:
            epochs = setting.epochs
        on_step: Pruner | None = None
        patience: int | None = setting.patience
        if pruning is not None and pruning.what is Pruned.CHANNELS:
            self.say("pruning channels")
            source = prune_channels(
                source, self._scores(), macs=1 - pruning.share, multiple=MULTIPLE
            )
        if epochs == 0:
            return source, ()
        self.say(f"training in float, at most {epochs} epochs")
        model = GraphModel(source)
        if pruning is not None and pruning.what is Pruned.WEIGHTS:
            # Epochs with more weights would be better ones: the last is kept.
            on_step, patience = Pruner(model, Schedule(pruning.share)), None
        history = self._fit(model, epochs, 1, setting.float_state, patience, on_step=on_step)
        return model.trained(), history

    def _in_int8(self, source: Graph, *, searching: bool = True) -> tuple[QatModel, WidthChoice]:
        """The model before training for int8, and the widths of its weights within the bytes."""
        setting, graph = self.setting, optimize(source)
        calibration = self.samples.rows(self.training[:CALIBRATION_SAMPLES])
        widths = WidthChoice()
        if setting.max_bytes is not None:
            self.say("choosing layers for int4")
            epochs = setting.searched_epochs if searching else 0
            steps = -(-len(self.training) // setting.batch)
            search = Search(epochs, steps, setting.learning_rate, self._fit_widths, self._loss)
            widths = choose_widths(graph, source, calibration, setting.max_bytes, self.size, search)
        narrow = setting.scheme is Scheme.INT4
        config = QatConfig(
            weight_bits=4 if narrow else 8,
            weight_scales=Scales.LSQ if narrow or widths.int4_layers else Scales.RANGE,
            int4_layers=frozenset(widths.int4_layers),
            activations=ACTIVATIONS[setting.scheme],
        )
        model = QatModel(graph, calibration, source=source, config=config)
        if not model.parameters():
            raise UnsupportedError(
                "the model has no weights to train",
                expected="convolutions, dense layers, or other constants that training changes",
                hint="tinyrt quantize makes an int8 model of it without training",
            )
        if widths.state is not None:
            model.load_state_dict(widths.state)
        return model, widths

    def _fit_int8(self, model: QatModel) -> tuple[Epoch, ...]:
        setting = self.setting
        first_frozen = setting.epochs - round(FROZEN * setting.epochs) + 1

        def freeze_late(number: int) -> None:
            if number >= first_frozen:
                model.freeze()

        on_step: Pruner | None = None
        pruning = setting.pruning
        if pruning is not None and pruning.what is Pruned.WEIGHTS:
            on_step = Pruner(model, Schedule(pruning.share, pruning.share))
        self.say(f"training for {setting.scheme.value}, at most {setting.epochs} epochs")
        return self._fit(
            model,
            setting.epochs,
            2,
            setting.state_file,
            setting.patience,
            before_epoch=freeze_late,
            on_step=on_step,
        )

    def _fit_widths(
        self, model: TwoWidthModel, optimizer: Optimizer, before_epoch: Callable[[int], None]
    ) -> tuple[Epoch, ...]:
        setting = self.setting
        self.say(f"learning widths, {setting.searched_epochs} epochs")
        return self._fit(
            model,
            setting.searched_epochs,
            3,
            setting.width_state,
            None,
            before_epoch=before_epoch,
            optimizer=optimizer,
        )

    def _fit(
        self,
        model: GraphModule,
        epochs: int,
        stage: int,
        state_file: Path | None,
        patience: int | None,
        *,
        before_epoch: Callable[[int], None] | None = None,
        on_step: Callable[[int, int], None] | None = None,
        optimizer: Optimizer | None = None,
    ) -> tuple[Epoch, ...]:
        setting = self.setting
        training = Training(epochs, setting.learning_rate, batch=setting.batch)
        return fit(
            model,
            optimizer or Adam(model.parameters(), setting.learning_rate),
            self.training,
            self.training,
            FitConfig(
                epochs,
                setting.batch,
                patience=patience,
                keep_best=patience is not None,
                progress=setting.progress,
            ),
            rng=np.random.default_rng([setting.seed, stage]),
            objective=self._objective,
            lr=training.lr,
            validate=lambda model: self._score(self._answers(model)),
            before_epoch=before_epoch,
            on_step=on_step,
            state_file=state_file,
            origin=None if state_file is None else self._origin(model),
        )

    def _objective(self, model: Module, rows: Array, same: Array) -> Tensor:
        """The loss of a batch, which ``fit`` knows by the samples' numbers only."""
        del same
        assert isinstance(model, GraphModule), "a model of the graph is what is trained here"
        inputs = {name: Tensor(array) for name, array in self.samples.rows(rows).items()}
        answers = model.answers(inputs)
        losses = [q.loss(a, rows) for q, a in zip(self.lessons, answers, strict=True)]
        return sum(losses[1:], start=losses[0])

    def _loss(self, model: Module) -> float:
        """The loss of the samples that are trained on, of the model as deployed."""
        parts = range(0, len(self.training), BATCH)
        with model.evaluating(), no_grad():
            rows = [self.training[start : start + BATCH] for start in parts]
            losses = [self._objective(model, part, part).item() * len(part) for part in rows]
        return float(np.sum(losses)) / len(self.training)

    def _answers(self, model: Module) -> tuple[Array, ...]:
        """What the model answers as deployed to the samples held out, for each output."""
        assert isinstance(model, GraphModule), "a model of the graph is what is trained here"
        parts = []
        with model.evaluating(), no_grad():
            for start in range(0, len(self.held), BATCH):
                inputs = self.samples.rows(self.held[start : start + BATCH])
                parts.append(model.answers({k: Tensor(array) for k, array in inputs.items()}))
        return tuple(
            np.concatenate([t.data for t in column]) for column in zip(*parts, strict=True)
        )

    def _score(self, answers: Iterable[Array]) -> float:
        """How good these answers to the samples held out are, over all outputs."""
        pairs = zip(self.lessons, answers, strict=True)
        return float(np.mean([lesson.score(array, self.held) for lesson, array in pairs]))

    def _best_epoch(
        self,
        model: QatModel,
        history: tuple[Epoch, ...],
        score_before: float,
        start: Mapping[str, Array],
    ) -> int:
        """The epoch whose weights the model has; it gets those from the start if all are worse."""
        if self.setting.patience is None:
            return history[-1].number
        best = max(history, key=lambda epoch: epoch.score)
        if best.score >= score_before:
            return best.number
        model.load_state_dict(start)
        return 0

    def _deployed(self, graph: Graph, trained: tuple[Array, ...]) -> tuple[Array, ...]:
        """The int8 graph's answers to the samples held out, which must be those of training."""
        deployed = answers_at_ends(graph, self.samples.rows(self.held))
        for lesson, end, own, other in zip(
            self.lessons, ends_of(graph), deployed, trained, strict=True
        ):
            step, distance = graph.value(end).q, np.abs(own - other.reshape(own.shape)).max()
            if step is not None and distance > step.scale / 2:
                raise DefectError(
                    "the int8 model answers otherwise than in training",
                    tensor=lesson.name,
                    expected="the same answers, bit for bit",
                    hint="please report this with the model",
                )
        return deployed

    def _origin(self, model: Module) -> dict[str, str]:
        """What a state file is of, beside shapes and rates: digests of data and weights."""
        setting = self.setting
        arrays = [*self.samples.inputs.values(), self.held]
        for lesson in self.lessons:
            arrays += [a for a in (lesson.labels, lesson.teacher) if a is not None]
        pruning = setting.pruning
        return {
            "data": digest(arrays),
            "weights at the start": digest(model.state_dict().values()),
            "seed": str(setting.seed),
            "scheme": setting.scheme.value,
            "bytes": "any" if setting.max_bytes is None else str(setting.max_bytes),
            "teacher": f"{setting.teaching.weight:g} at {setting.teaching.temperature:g}",
            "pruning": "none" if pruning is None else f"{pruning.what.value} {pruning.share:g}",
        }
