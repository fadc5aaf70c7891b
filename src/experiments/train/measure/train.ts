import type {Optimiser} from '../../../model/trained/index.js'
import {finiteOrNull} from '../../../stats/index.js'
import type {Task} from '../../../tasks/index.js'
import type {OnStep} from '../../experiment.js'
import type {CurvePoint, TrainCell, TrainResult} from '../schema.js'
import type {CellAttention} from './attention.js'
import {goOn, keep} from './checkpoint.js'
import {type Learner, lossOf, scoreOf, someExamples} from './score.js'

/** Looks at a run on its way, and the sequences of each. */
const [LOOKS, LOOKED_AT] = [25, 128]
/** Share of the steps in which the rate rises to its highest. */
const WARM_UP = 0.05
/** Most norm of the gradients of a step: denominators of random features near zero have steep ones. */
const MAX_GRADIENT_NORM = 1

/** Time between two states that are kept, in ms: what an interruption may cost. */
const CHECKPOINT_MS = 30_000

export interface Training {
  cell: TrainCell
  task: Task
  learner: Learner
  optimiser: Optimiser
  attention: CellAttention
  onStep?: OnStep | undefined
  /** File in which it keeps how far it is, and goes on from. Default: none. */
  checkpoint?: string | undefined
}

/** Trains until all steps are taken or a loss is not finite, then measures. */
export async function train(
  training: Training,
): Promise<
  Pick<
    TrainResult,
    'steps_taken' | 'diverged_step' | 'cpu_seconds' | 'curve' | 'validation' | 'test' | 'fresh'
  >
> {
  const {cell, task, learner, optimiser, attention, onStep} = training
  const {run, batch, steps, held_out: count} = cell
  const validation = task.examples({part: 'validation', count, run})
  const looked = someExamples(validation, 0, LOOKED_AT)
  const every = Math.max(1, Math.round(steps / LOOKS))
  const {checkpoint} = training
  const before = checkpoint === undefined ? undefined : await goOn(checkpoint, optimiser)
  let {seconds, losses, taken} = before ?? {seconds: 0, losses: 0, taken: 0}
  const curve: CurvePoint[] = before?.curve ?? []
  if (taken > 0) attention.before(taken) // it is judged with the vectors of its last step
  let diverged: number | null = null
  let kept = performance.now()
  for (let step = taken + 1; step <= steps; step++) {
    const begin = process.cpuUsage()
    attention.before(step)
    const examples = task.examples({part: 'train', count: batch, run, step})
    const options = {learningRate: rateAt(step, cell), maxGradientNorm: MAX_GRADIENT_NORM}
    const loss = optimiser.step(() => lossOf(learner, examples), options)
    const {user, system} = process.cpuUsage(begin)
    seconds += (user + system) / 1e6
    losses += loss
    if (!Number.isFinite(loss)) {
      diverged = step
      break
    }
    taken = step
    if (step % every === 0 || step === steps) {
      const loss = finiteOrNull(losses / (step % every || every))
      const score = scoreOf(learner, looked, batch)
      curve.push({step, loss, cpu_seconds: seconds, validation: score})
      losses = 0
      onStep?.(step, steps)
      await new Promise(setImmediate) // messages of the runner come in between
    }
    if (checkpoint !== undefined && performance.now() - kept >= CHECKPOINT_MS) {
      await keep(checkpoint, optimiser, {taken, seconds, losses, curve})
      kept = performance.now()
    }
  }
  const score = (part: 'validation' | 'test') =>
    diverged === null
      ? scoreOf(learner, task.examples({part, count, run}), batch)
      : {accuracy: null, bits: null}
  return {
    ...{steps_taken: taken, diverged_step: diverged, cpu_seconds: seconds, curve},
    ...{validation: score('validation'), test: score('test')},
    fresh: attention.refresh() ? score('test') : null,
  }
}

/** Rate of a step, from 1: it rises in the first steps, and falls to 0 as a cosine. */
export function rateAt(step: number, {rate, steps}: Pick<TrainCell, 'rate' | 'steps'>): number {
  const rising = Math.ceil(WARM_UP * steps)
  const falling = (1 + Math.cos((Math.PI * (step - 1)) / steps)) / 2
  return rate * Math.min(1, step / rising) * falling
}
