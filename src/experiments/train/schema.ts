/** Small models trained from scratch with an attention: plan, cell and result. */
import {z} from 'zod'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  seed,
} from '../../results/record.js'
import {trainTask} from '../../tasks/index.js'
import {drawAxes, drawPoint, featureDim, methodAxes, methodSpec} from '../axes.js'
import {untilCi} from '../until-ci.js'

const positive = z.int().positive()

/** Most layers, runs and steps: their products number random vectors, below 2^32. */
export const [MOST_LAYERS, MOST_RUNS] = [100, 1000]
export const MOST_STEPS = 40_000

const model = z
  .object({
    layers: positive.max(MOST_LAYERS).describe('Layers of attention.'),
    width: positive.describe('Entries of a hidden state.'),
    heads: positive.describe('H, heads of each layer; the width is a multiple.'),
    mlp: z
      .int()
      .nonnegative()
      .describe('Entries of the hidden layer of each feed-forward part; 0: there are none.'),
    convolution: z
      .int()
      .nonnegative()
      .describe('Tokens that the gated convolution before all attention sees; 0: there is none.'),
    positions: z.boolean().describe('Whether embeddings of places are learned.'),
  })
  .describe('The model.')

const shared = {
  model,
  steps: positive.max(MOST_STEPS).describe('Steps of Adam.'),
  batch: positive.describe('B, sequences of a step, drawn anew for each.'),
  held_out: positive
    .describe('Sequences of validation, and the number of the test; a short text has fewer.')
    .meta({flag: 'held-out'}),
  redraw: z
    .int()
    .nonnegative()
    .describe('Steps after which the random vectors are drawn anew; 0: never.'),
  seed,
  backend: backendChoice,
}

export const trainPlan = z.object({
  experiment: z.literal('train').describe('Name of the experiment.'),
  tasks: z.array(trainTask).min(1).describe('Tasks, in turn.').meta({flag: 'task'}),
  ...methodAxes,
  ...drawAxes,
  rates: z.array(z.number().positive()).min(1).describe('Learning rates of Adam.'),
  runs: positive
    .max(MOST_RUNS)
    .describe('Runs of each method at each rate, which differ in weights, data and random vectors.')
    .meta({flag: 'seeds'}),
  until_ci: untilCi
    .optional()
    .describe(
      'The number of runs doubles until the interval of each method at its best rate is narrow enough, starting from `runs`; at the end `runs` is what it came to. Absent: it is `runs`.',
    ),
  key_dims: z
    .record(z.string(), positive)
    .describe('D, entries of a query or key, by method; `default`: of all others.')
    .meta({flag: 'key-dim'}),
  ...shared,
})
export type TrainPlan = z.infer<typeof trainPlan>

export const trainCell = z.object({
  ...methodSpec.shape,
  ...drawPoint,
  task: trainTask,
  rate: z.number().positive().describe('Learning rate of Adam at its highest.'),
  run: z.int().nonnegative().describe('Number of the run.'),
  key_dim: positive.describe('D, entries of a query or key.'),
  ...shared,
})
export type TrainCell = z.infer<typeof trainCell>

/** How well labels of held-out sequences are predicted. */
const score = z.object({
  accuracy: nullableNumber.describe('Share of labels with the highest probability.'),
  bits: nullableNumber
    .describe('Mean of -log2 of the probability of a label.')
    .meta({unit: 'bits'}),
})
export type Score = z.output<typeof score>

/** A look at a run on its way. */
export const curvePoint = z.object({
  step: z.int().describe('Steps taken.'),
  loss: nullableNumber.describe('Mean loss of the steps since the last look.').meta({unit: 'nats'}),
  cpu_seconds: z.number().describe('Processor time of all steps so far.').meta({unit: 's'}),
  validation: score.describe('On the first sequences of validation.'),
})
export type CurvePoint = z.output<typeof curvePoint>

export const trainResult = z.object({
  ...computedBy,
  vocabulary: z.int().describe('V, tokens that the model knows.'),
  weights: z.int().describe('Numbers that are learned.'),
  feature_dim: featureDim,
  state_floats: z
    .int()
    .nullable()
    .describe(
      'Numbers that a layer carries from token to token at the end of a sequence; `null`: the method has no recurrent form.',
    ),
  state_grows: z.boolean().nullable().describe('Whether that number grows with every token.'),
  steps_taken: z.int().describe('Steps that were taken.'),
  diverged_step: z
    .int()
    .nullable()
    .describe('Step with a loss that was not finite, which ended the run; `null`: there was none.'),
  cpu_seconds: z.number().describe('Processor time of all steps.').meta({unit: 's'}),
  curve: z.array(curvePoint).describe('The run on its way.'),
  validation: score.describe('On all sequences of validation, at the end.'),
  test: score.describe('On those of the test, at the end.'),
  fresh: score
    .nullable()
    .default(null)
    .describe(
      'On those of the test with random vectors that no step has seen; `null`: the method has none.',
    ),
  plateau: nullableNumber.describe(
    'Accuracy of a model that knows which tokens a sequence asks for, but not where; `null`: no such level is known.',
  ),
  left_plateau: z
    .boolean()
    .nullable()
    .describe(
      'Whether the test accuracy is more than a quarter of the way from the plateau to 1; `null`: there is no plateau.',
    ),
})
export type TrainResult = z.infer<typeof trainResult>
export type TrainRecord = CellRecord<TrainCell, TrainResult>
export type CompletedTrain = Completed<TrainCell, TrainResult>
