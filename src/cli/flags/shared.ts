/**
 * The flags that several commands share, each parsed to a typed value here.
 *
 * No flag has a built-in default: a plan must be able to tell what was typed from what `--quick`
 * or the standard grid (plans/defaults.ts) supplies.
 */
import * as Flags from '@oclif/core/flags'
import {
  CAUSAL_ALIGNS,
  METHOD_NAMES,
  methodNames,
  ORTH_SIGNS,
  PRESET_NAMES,
  PROJECTION_NAMES,
} from '../../attention/names.js'
import {BACKEND_CHOICES} from '../../backends/index.js'
import {LAYOUTS} from '../../inputs/layout.js'
import {TABLE_FILES} from '../../results/tables/table-files.js'
import {defaultHelp, type Grid} from './defaults.js'
import {reportFlags} from './figures.js'
import {
  completedWith,
  eitherWay,
  emptyItem,
  type FlagValues,
  inGroup,
  nameList,
  notBeside,
  numberList,
  type OptionAssignment,
  oneDuration,
  oneName,
  oneNumber,
  oneOption,
  oneText,
  parseOptionAssignment,
  present,
  toggle,
} from './kinds.js'
import {
  COUNT,
  POSITIVE_INTEGER,
  POSITIVE_NUMBER,
  parseNumberItem,
  reversedRange,
  THREADS,
} from './ranges.js'
import {shardFlag} from './shard.js'

/** What `--methods` takes: the names of the registry, those of plug-ins among them once they are loaded, or all. */
const methodChoices = () => [...methodNames(), 'all']

/** What `--projections` takes: the names of the registry, or all of them. */
const PROJECTION_CHOICES = [...PROJECTION_NAMES, 'all'] as const

/** `--option`: no delimiter, as values may hold commas: what is a list, its option says. The flag is repeated instead. */
const optionAssignment = Flags.custom<OptionAssignment>({
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'NAME=VALUE',
  parse: async (text, _context, {name}) => parseOptionAssignment(text, `--${name}`),
})

/** `--option` of every command that runs estimators. */
export const optionFlag = optionAssignment({
  helpGroup: 'GRID',
  description:
    'option of the estimators: tau=0.5 for every selected method that has it, rfa.tau=0.5 for one; several values (ra.samples=1,4,16) are an axis of the grid; see rfa methods NAME',
})

/** `--orth-sign` of every command that draws projections. */
export const orthSignFlag = oneOption(ORTH_SIGNS)(
  'signs of orthogonal projections: uniform (haar, default), or as LAPACK leaves them (raw): biased, but what official codes do',
  {helpGroup: 'GRID'},
)

/** `--preset`, `--projection` and `--method` of every command that takes one of each. */
export const onePreset = oneName({presets: PRESET_NAMES})
export const oneProjection = oneName({projections: PROJECTION_NAMES})
export const oneMethod = oneName({methods: methodNames})

export const layoutFlag = oneOption(LAYOUTS)(
  'order of the axes of four- (and three-) axis arrays: bhld is [B, H, L, D] and [H, L, D] (default), blhd is [B, L, H, D] and [L, H, D], as PyTorch models split a projection and flash-attention takes it',
  {helpValue: 'AXES'},
)

/** `--plugin` of every command that takes names of estimators. @param effect - what comes of it there */
export function pluginFlag(effect: string) {
  return Flags.custom<string>({
    multiple: true,
    multipleNonGreedy: true,
    parse: async (text, _context, {name}) => present(text, `--${name}`),
  })({
    helpValue: 'FILE',
    description: `module with an estimator of your own, may be repeated: ${effect}; the environment variable RFA_PLUGINS names more, separated as in PATH`,
  })
}

/** `--layer`: numbers and ranges, or `all`; each item of the value is one or the other. */
export const layerList = Flags.custom<'all' | readonly number[]>({
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  helpValue: 'N,N',
  ...completedWith(['all']),
  parse: async (text, _context, {name}) => {
    const where = `--${name}`
    if (text.trim() === '') throw emptyItem(where, `all, or ${COUNT.what}`)
    const item = text.trim()
    if (item === 'all') return 'all'
    const [, low, high] = /^(\d+)\.\.(\d+)$/.exec(item) ?? []
    if (low === undefined || high === undefined) return parseNumberItem(item, where, COUNT)
    if (Number(high) < Number(low)) throw reversedRange(where, item, `${high}..${low}`)
    // layers are counted one by one, where other ranges multiply
    return parseNumberItem(`${item}+1`, where, COUNT)
  },
})

const named = (description: string) => oneText(description, {helpValue: 'NAME'})

/** Where the arrays of files are, for every command that reads them; without {@link layoutFlag} and the files. */
export const arrayFlags = {
  layer: layerList({
    description:
      'layers of a file that has several (arrays layers.0.q, layers.0.k, layers.0.v and so on): lists a,b, ranges 0..11, or all (default: all, unless the file also has arrays q, k, v)',
  }),
  'query-name': named('array of queries (default: q)'),
  'key-name': named('array of keys (default: k)'),
  'value-name': named('array of values (default: v)'),
  'key-mask-name': named(
    'array [B, S], nonzero for keys that take part (default: key_mask, if the file has one)',
  ),
}

/** `--scale` of every command that computes logits. @param besides - what is said after its default */
export function scaleFlag(besides = '') {
  return oneNumber(POSITIVE_NUMBER)(
    `factor on q.k, the scale of logits (default: scale in the metadata of the file, else 1/sqrt(D))${besides}`,
    {helpValue: 'BETA'},
  )
}

/** The flags of every command that reads an input: which keys a query sees. */
export const causalFlags = {
  causal: eitherWay(
    'query i sees keys 0..i only (default: causal in the metadata of the file, else bidirectional)',
  ),
  'causal-align': oneName({corners: CAUSAL_ALIGNS})(
    'which tokens the queries are where there are fewer causal queries than keys: start (the first ones) or end (the last ones, as with a cache); no default',
  ),
}

export const detailsFlag = toggle('print every table and note, not the answer alone')

/** `--parameters` of every command that runs estimators on queries and keys. @param effect - what comes of it there */
export function parametersFlag(effect: string) {
  return oneText(`learned parameters, as rfa tune writes them (tuned.safetensors): ${effect}`, {
    helpValue: 'FILE',
  })
}

/** Which estimators, in which variants. @param grids - what runs where nothing is typed */
export function methodFlags(grids: Record<'standard' | 'quick', Grid>) {
  return inGroup('GRID', {
    methods: nameList({methods: methodChoices})(
      `estimators: ${[...METHOD_NAMES, 'all'].join(', ')} ${defaultHelp(grids, grid => grid.methods)}`,
      {char: 'm'},
    ),
    plugin: pluginFlag(
      'its estimators join those of --methods, and without --methods the default ones',
    ),
    projections: nameList({projections: PROJECTION_CHOICES})(
      `random matrices: ${PROJECTION_CHOICES.join(', ')} ${defaultHelp(grids, grid => grid.projections)}`,
    ),
    'orth-sign': orthSignFlag,
    'num-features': numberList(POSITIVE_INTEGER)(
      `number of random vectors M: lists a,b and ranges 64..1kx2, 64..512+64, with k = 1024 ${defaultHelp(grids, grid => grid.numFeatures)}`,
    ),
    preset: nameList({presets: PRESET_NAMES})(
      `released implementation to reproduce; methods without it run as exact: ${PRESET_NAMES.join(', ')} (default: exact)`,
    ),
    option: optionFlag,
  })
}

export const computeFlags = inGroup('RUN', {
  seed: oneNumber(COUNT)('seed of every random draw (default: 0)'),
  backend: oneName({backends: BACKEND_CHOICES})(
    `where to compute: ${BACKEND_CHOICES.join(', ')} (default: auto, the first of the others that runs; see rfa doctor)`,
  ),
  threads: oneNumber(THREADS)(
    'threads in all (default: one per processor). error-sweep and variance run that many cells in parallel; with fewer cells, each gets several threads. bench gives all threads to each cell in turn',
  ),
})

/** What a command that runs a grid of cells takes beside its grid. */
export const runFlags = {
  ...inGroup('RUN', {
    output: oneText('folder of the run (default: results/<command>-<date>-<time>)', {
      char: 'o',
      helpValue: 'DIR',
    }),
    resume: toggle(
      'continue the run in --output (start it if the folder is empty): keep finished cells, retry failed ones, add cells of a larger plan; flags of the grid need not be repeated',
    ),
    shard: shardFlag({
      description:
        'run only part I of N of the plan, each in its own --output folder: parts have about equal predicted cost, the same on every machine; rfa merge joins the folders. slurm in place of I/N takes the part from SLURM_ARRAY_TASK_ID, _MIN and _COUNT',
    }),
    quick: toggle('a smaller grid that takes seconds; other flags override it'),
    'dry-run': toggle('print the cells, the predicted time and memory, and stop'),
    timeout: oneNumber({...POSITIVE_NUMBER, what: 'a positive number of seconds'})(
      'give up on a cell after this long; bench: on each of its processes (default: never)',
      {helpValue: 'SECONDS'},
    ),
    force: toggle('run even if the predicted memory exceeds the free memory'),
    format: nameList({formats: TABLE_FILES})(
      `files to write besides records.jsonl: ${TABLE_FILES.join(', ')} (default: csv)`,
    ),
    details: detailsFlag,
    plot: eitherWay('draw the most telling figure below the tables'),
  }),
  ...reportFlags,
  ...inGroup('RUN', {
    profile: toggle(
      'write a CPU profile of each worker process, profile/worker-N.cpuprofile in the folder of the run, for Chrome DevTools, VS Code or speedscope.app; this slows what bench times',
      {exclusive: ['dry-run']},
    ),
  }),
  ...computeFlags,
}

export const timedFlags = inGroup('RUN', {
  'wait-quiet': oneDuration(
    'before anything is timed wait until other programs leave the processors alone, at most this long (default: no wait)',
  ),
  samples: toggle(
    'write every single time to records_samples.csv, too; of a finished run later, with --resume',
    notBeside('dry-run'),
  ),
})

/** The values of {@link runFlags}, with what every command has, and what was typed of the axes of draws. */
export type RunOptions = Omit<FlagValues<typeof runFlags>, 'backend' | 'quick' | 'seed'> & {
  quiet: boolean
  seed?: number | undefined
  samples?: boolean
  /** The file that the plan is from. Default: flags say it, or the run to go on with. */
  plan?: string | undefined
} & Partial<Pick<FlagValues<ReturnType<typeof methodFlags>>, 'num-features' | 'projections'>>
