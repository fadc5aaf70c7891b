/** Made-up records of training. */
import type {CompletedTrain, TrainCell, TrainResult} from '../../src/experiments/train/schema.js'

/** What a made-up run is like. */
export interface MadeRun {
  method: string
  rate: number
  run: number
  /** Of validation and test; `null`: it diverged. */
  accuracy: number | null
  bits?: number
  cell?: Partial<TrainCell>
  result?: Partial<TrainResult>
}

/** A cell of recall that takes no time. */
export function trainCellOf(changes: Partial<TrainCell> = {}): TrainCell {
  return {
    ...{method: 'softmax', preset: 'exact', options: {}},
    ...{projection: null, orth_sign: 'haar', num_features: null},
    task: {name: 'mqar', length: 16, vocabulary: 24, pairs: 2, power: 0.01, filled: true},
    ...{rate: 4e-3, run: 0, key_dim: 8},
    model: {layers: 1, width: 16, heads: 2, mlp: 0, convolution: 3, positions: false},
    ...{steps: 12, batch: 6, held_out: 20, redraw: 0, seed: 0, backend: 'auto'},
    ...changes,
  }
}

/** The record of a made-up run. */
export function trainRecordOf({
  method,
  rate,
  run,
  accuracy,
  bits = 1,
  cell,
  result,
}: MadeRun): CompletedTrain {
  const score = {accuracy, bits: accuracy === null ? null : bits}
  return {
    ...{schema: 'rfa.train/1', key: `${method} ${rate} ${run}`, status: 'completed'},
    cell: trainCellOf({method, rate, run, steps: 600, batch: 32, ...cell}),
    result: {
      ...{backend: 'native', instruction_set: 'avx512', threads: 1, processes: 2},
      ...{vocabulary: 24, weights: 5000, feature_dim: 0, state_floats: 4160, state_grows: false},
      ...{steps_taken: 600, diverged_step: accuracy === null ? 7 : null, cpu_seconds: 12},
      curve: [
        {step: 300, loss: 3, cpu_seconds: 6, validation: score},
        {step: 600, loss: 1, cpu_seconds: 12, validation: score},
      ],
      ...{
        validation: score,
        test: score,
        fresh: null,
        plateau: 0.5,
        left_plateau: (accuracy ?? 0) > 0.625,
      },
      ...result,
    },
  }
}
