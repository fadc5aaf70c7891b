import * as Flags from '@oclif/core/flags'
import {methodNames, unknownMethod} from '../../attention/names.js'
import {expected} from '../../errors.js'
import type {MethodSpec} from '../../experiments/axes.js'
import {GUARDS} from '../../experiments/train/guards.js'
import {type TrainPlan, trainPlan} from '../../experiments/train/schema.js'
import type {Plan} from '../../results/record.js'
import {
  TASK_NAMES,
  TASKS,
  type TaskDefaults,
  type TaskName,
  type TaskRequest,
  type TaskSettings,
} from '../../tasks/index.js'
import {type Grid, gridOf} from '../flags/defaults.js'
import {
  eitherWay,
  type FlagValues,
  inGroup,
  numberList,
  oneName,
  oneNumber,
  oneShare,
  oneText,
} from '../flags/kinds.js'
import {COUNT, POSITIVE_INTEGER, POSITIVE_NUMBER, parseNumber} from '../flags/ranges.js'
import {methodFlags, runFlags} from '../flags/shared.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {checkedPlan, drawAxesOf, listOr, replicatesOf} from './values.js'

/** Most seeds of a run that adds some until it knows enough. */
const MOST_SEEDS = 12

/** What runs where nothing is typed. */
interface TrainGrid extends Grid {
  rates: readonly number[]
  seeds: number
}

/** Quick: one rate, some seconds. */
const TRAIN: Record<'standard' | 'quick', TrainGrid> = {
  standard: {
    methods: ['softmax', 'elu', 'rfa', 'rfa-gate', 'favor-pos', 'taylor'],
    projections: ['orth'],
    numFeatures: [32],
    rates: [1e-3, 4e-3, 1.6e-2],
    seeds: 3,
  },
  quick: {
    methods: ['softmax', 'elu'],
    projections: ['orth'],
    numFeatures: [32],
    rates: [4e-3],
    seeds: 3,
  },
}

/** D of methods with as many features as pairs of entries, as Based has it. */
const SMALL_DIMS = {taylor: 16}

const DEFAULT_TASK = 'mqar' satisfies TaskName

/** Flags that not every task has. */
const OF_TASKS = ['pairs', 'vocabulary', 'data', 'texts'] as const satisfies (keyof TaskSettings)[]

/** The tasks in words: `to recall values by their keys (mqar, default), ...`. */
const PURPOSES = TASK_NAMES.map((name, at) => {
  const text = `${TASKS[name].purpose} (${name}${name === DEFAULT_TASK ? ', default' : ''})`
  return at === TASK_NAMES.length - 1 ? `or ${text}` : text
})

/** `--key-dim`: a number for all methods, or `METHOD=N` for one. */
const keyDim = Flags.custom<readonly [method: string | null, dim: number]>({
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  helpValue: 'N|METHOD=N',
  parse: async (text, _context, {name}) => {
    const [, method, number = ''] = /^(?:([^=]+)=)?(.*)$/.exec(text.trim())!
    const where = `--${name}`
    if (method !== undefined && !methodNames().includes(method)) {
      throw unknownMethod(where, method, methodNames())
    }
    return [method ?? null, parseNumber(number, where, POSITIVE_INTEGER)] as const
  },
})

/** `--redraw`: steps, 0 for `never`. */
const redrawSteps = Flags.custom<number>({
  helpValue: 'never|N',
  parse: async (text, _context, {name}) =>
    text.trim() === 'never'
      ? 0
      : parseNumber(text, `--${name}`, {...COUNT, what: `never, or ${COUNT.what}`}),
})

export const trainFlags = {
  ...inGroup('TASK', {
    task: oneName({tasks: TASK_NAMES})(`what is learned: ${PURPOSES.join(', ')}`),
    length: oneNumber(POSITIVE_INTEGER)(
      'tokens of a sequence L (default: 64, chars 128; quick: 32, chars 64)',
    ),
    pairs: numberList(POSITIVE_INTEGER)(
      'mqar: keys with a value each, a list to compare (default: 8; quick: 4)',
    ),
    vocabulary: oneNumber(POSITIVE_INTEGER)(
      'tokens that there are V (default: mqar 256, copy 16; quick: 64, 16)',
    ),
    data: oneNumber(POSITIVE_INTEGER)('copy: tokens to copy (default: 8; quick: 4)'),
    texts: oneText(
      'chars: a file of texts, or a folder of .txt files; the first 90 % are trained on, 5 % choose the rate, 5 % test (default: 40,000 characters of the package)',
      {helpValue: 'PATH'},
    ),
  }),
  ...inGroup('MODEL', {
    layers: oneNumber(POSITIVE_INTEGER)('layers of attention (default: mqar 1, others 2)'),
    width: oneNumber(POSITIVE_INTEGER)('entries of a hidden state (default: 64)'),
    heads: oneNumber(POSITIVE_INTEGER)('heads of a layer (default: 1, listops and chars 2)'),
    'key-dim': keyDim({
      description:
        'entries of a query or key D, for all methods or for one: 64 or taylor=16 (default: width / heads, taylor 16)',
    }),
    mlp: oneNumber(COUNT)(
      'entries of the hidden layer of feed-forward parts, 0 for none (default: 0, listops and chars 128)',
    ),
    convolution: oneNumber(COUNT)(
      'tokens that a gated convolution before all attention sees, 0 for none (default: 3, listops and chars 0)',
    ),
    positions: eitherWay('learn embeddings of places (default: for listops and chars)'),
  }),
  ...inGroup('TRAINING', {
    rates: numberList(POSITIVE_NUMBER)(
      'learning rates of Adam: lists a,b and ranges 1e-3..3e-2x4 (default: 0.001, 0.004, 0.016; quick: 0.004); validation chooses one for each method',
    ),
    seeds: oneNumber(POSITIVE_INTEGER)('runs of each method at each rate (default: 3)'),
    'until-ci': oneShare(
      'double the seeds until the 95 % interval of every method is within this share of its score, such as 0.05 or 5%; --seeds is then the minimum',
    ),
    'max-seeds': oneNumber(POSITIVE_INTEGER)(
      `with --until-ci: seeds at which it ends all the same (default: ${MOST_SEEDS})`,
    ),
    steps: oneNumber(POSITIVE_INTEGER)(
      'steps of Adam (default: 600, chars 300; quick: 200, listops and chars 60)',
    ),
    batch: oneNumber(POSITIVE_INTEGER)('sequences of a step (default: 32, chars 16; quick: 16)'),
    'held-out': oneNumber(POSITIVE_INTEGER)(
      'sequences of validation, and the number of the test (default: 512, chars 256; quick: 128, chars 64)',
    ),
    redraw: redrawSteps({
      description: 'draw the random vectors anew every N steps (default: never)',
    }),
  }),
  ...methodFlags(TRAIN),
  ...runFlags,
}
export type TrainFlags = FlagValues<typeof trainFlags>

export type TrainTexts = TaskSettings['texts']

/** Whether a plan needs {@link TrainTexts}. */
export function readsTexts({task = DEFAULT_TASK}: Pick<TrainFlags, 'task'>): boolean {
  return TASKS[task].settings.includes('texts')
}

/**
 * The plan of a `rfa train`.
 *
 * @param estimators - the registry, for options and whether features may be negative
 * @param texts - of the task chars
 * @throws {USAGE} when the flags make no plan
 */
export function toTrainPlan(
  flags: TrainFlags,
  estimators: EstimatorFacts,
  texts?: TrainTexts,
): TrainPlan {
  const name = flags.task ?? DEFAULT_TASK
  checkTaskFlags(flags, name)
  const grid = gridOf(TRAIN, flags)
  const own = TASKS[name].defaults[flags.quick ? 'quick' : 'standard']
  const model = modelOf(flags, own.model)
  return checkedPlan(trainPlan, {
    experiment: 'train',
    tasks: tasksOf(flags, name, own, texts),
    methods: toMethodSpecs(flags, grid.methods, estimators).map(spec =>
      withGuard(spec, flags, estimators),
    ),
    ...drawAxesOf(flags, grid),
    rates: listOr(flags.rates, '--rates', grid.rates),
    ...seedsOf(flags, grid.seeds),
    model,
    key_dims: keyDimsOf(flags, model),
    steps: flags.steps ?? own.steps,
    batch: flags.batch ?? own.batch,
    held_out: flags['held-out'] ?? own.heldOut,
    redraw: flags.redraw ?? 0,
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
}

/** Runs, and until when. @throws {USAGE} for most that nothing asks for or below the fewest, and for a part of the cells */
function seedsOf(
  {seeds, 'until-ci': width, 'max-seeds': most, shard}: TrainFlags,
  standard: number,
): Pick<TrainPlan, 'runs' | 'until_ci'> {
  if (width !== undefined && shard) {
    const remedy = 'ask for --seeds: how many are enough depends on all cells'
    throw expected('USAGE', '--shard', 'without --until-ci', 'with it', remedy)
  }
  const counts = replicatesOf(
    {replicates: seeds, 'until-ci': width, 'max-replicates': most},
    {replicates: standard, most: MOST_SEEDS},
    {replicates: '--seeds', most: '--max-seeds'},
  )
  const {replicates: runs, until_ci} = counts
  return {runs, ...(until_ci && {until_ci})}
}

/** The plan with the runs of the one that it continues, where a rule has made them more. */
export function withRunsOf(plan: TrainPlan, saved: Plan | undefined): TrainPlan {
  const {success, data} = trainPlan.safeParse(saved)
  if (!success || !plan.until_ci || data.runs <= plan.runs) return plan
  return {...plan, runs: data.runs}
}

/**
 * A method with a guard on its denominators, where features may be negative and nothing else was typed: without one, denominators come near
 * zero in the course of training, and the model forgets what it has learned.
 */
function withGuard(
  spec: MethodSpec,
  {option = [], preset}: TrainFlags,
  estimators: EstimatorFacts,
): MethodSpec {
  const {nonNegative, options, takesGate} = estimators[spec.method]!
  const typed = option.some(
    ({method, name}) => name === 'denGuard' && (method ?? spec.method) === spec.method,
  )
  if (nonNegative || typed || preset || !Object.hasOwn(options.shape, 'denGuard')) return spec
  return {...spec, options: {...spec.options, denGuard: takesGate ? GUARDS.gated : GUARDS.sums}}
}

/** @throws {USAGE} for a flag of another task */
function checkTaskFlags(flags: TrainFlags, task: TaskName): void {
  for (const name of OF_TASKS) {
    const tasks = TASK_NAMES.filter(one => TASKS[one].settings.includes(name))
    if (flags[name] === undefined || tasks.includes(task)) continue
    const what = `with --task ${tasks.join(' or --task ')}`
    throw expected('USAGE', `--${name}`, what, `--task ${task}`, 'leave it out')
  }
}

function modelOf(
  {layers, width, heads, mlp, convolution, positions}: TrainFlags,
  own: TrainPlan['model'],
): TrainPlan['model'] {
  return {
    layers: layers ?? own.layers,
    width: width ?? own.width,
    heads: heads ?? own.heads,
    mlp: mlp ?? own.mlp,
    convolution: convolution ?? own.convolution,
    positions: positions ?? own.positions,
  }
}

/** @throws {USAGE} for heads that do not divide the width, where D is not given */
function keyDimsOf(
  {'key-dim': typed = []}: TrainFlags,
  {width, heads}: TrainPlan['model'],
): Record<string, number> {
  if (width % heads !== 0) {
    const what = `a multiple of --heads ${heads}`
    const remedy = `take ${heads * Math.ceil(width / heads)}`
    throw expected('USAGE', '--width', what, String(width), remedy)
  }
  const all = typed.find(([method]) => method === null)
  const one = typed.flatMap(([method, dim]) => (method === null ? [] : [[method, dim] as const]))
  return {
    default: all?.[1] ?? width / heads,
    ...(all ? {} : SMALL_DIMS),
    ...Object.fromEntries(one),
  }
}

function tasksOf(
  flags: TrainFlags,
  name: TaskName,
  own: TaskDefaults,
  texts: TrainTexts | undefined,
) {
  const {pairs, vocabulary, data, length = own.length} = flags
  const typed: TaskRequest['typed'] = {
    ...(pairs && {pairs: listOr(pairs, '--pairs', [])}),
    ...(vocabulary !== undefined && {vocabulary}),
    ...(data !== undefined && {data}),
    ...(texts && {texts}),
  }
  return TASKS[name].plan({length, size: flags.quick ? 'quick' : 'standard', typed})
}
