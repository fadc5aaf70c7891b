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
  nameList,
  notBeside,
  numberList,
  type OptionAssignment,
  oneDuration,
  oneName,
  oneNumber,
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
export const orthSignFlag = Flags.option({options: ORTH_SIGNS})({
  helpGroup: 'GRID',
  description:
    'signs of orthogonal projections: uniform (haar, default), or as LAPACK leaves them (raw): biased, but what official codes do',
})

/** `--layout` of every command that reads arrays. */
export function layoutFlag(helpGroup?: string) {
  return Flags.option({options: LAYOUTS})({
    ...(helpGroup && {helpGroup}),
    helpValue: 'AXES',
    description:
      'order of the axes of four- (and three-) axis arrays: bhld is [B, H, L, D] and [H, L, D] (default), blhd is [B, L, H, D] and [L, H, D], as PyTorch models split a projection and flash-attention takes it',
  })
}

/** `--plugin` of every command that takes names of estimators. @param effect - what comes of it there */
export function pluginFlag(helpGroup: string | undefined, effect: string) {
  return Flags.custom<string>({
    multiple: true,
    multipleNonGreedy: true,
    parse: async (text, _context, {name}) => present(text, `--${name}`),
  })({
    ...(helpGroup && {helpGroup}),
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

/** Where the arrays of files are, for every command that reads them; without {@link layoutFlag} and the files. */
export function arrayFlags(helpGroup?: string) {
  const group = helpGroup && {helpGroup}
  return {
    layer: layerList({
      ...group,
      description:
        'layers of a file that has several (arrays layers.0.q, layers.0.k, layers.0.v and so on): lists a,b, ranges 0..11, or all (default: all, unless the file also has arrays q, k, v)',
    }),
    'query-name': oneText({
      ...group,
      helpValue: 'NAME',
      description: 'array of queries (default: q)',
    }),
    'key-name': oneText({...group, helpValue: 'NAME', description: 'array of keys (default: k)'}),
    'value-name': oneText({
      ...group,
      helpValue: 'NAME',
      description: 'array of values (default: v)',
    }),
    'key-mask-name': oneText({
      ...group,
      helpValue: 'NAME',
      description:
        'array [B, S], nonzero for keys that take part (default: key_mask, if the file has one)',
    }),
  }
}

/** `--scale` of every command that computes logits. @param besides - what is said after its default */
export function scaleFlag(helpGroup?: string, besides = '') {
  return oneNumber(POSITIVE_NUMBER)({
    ...(helpGroup && {helpGroup}),
    helpValue: 'BETA',
    description: `factor on q.k, the scale of logits (default: scale in the metadata of the file, else 1/sqrt(D))${besides}`,
  })
}

/** `--causal` of every command that reads an input. */
export function causalFlag(helpGroup?: string) {
  return eitherWay(
    'query i sees keys 0..i only (default: causal in the metadata of the file, else bidirectional)',
    helpGroup,
  )
}

/** `--causal-align`, which goes with it. */
export function causalAlignFlag(helpGroup?: string) {
  return oneName(
    'corners',
    CAUSAL_ALIGNS,
  )({
    ...(helpGroup && {helpGroup}),
    description:
      'which tokens fewer causal queries than keys are: start, the first ones; end, the last ones, as with a cache (no default)',
  })
}

/** `--details` of every command that prints a report. */
export function detailsFlag(helpGroup?: string) {
  return toggle('print every table and note, not the answer alone', helpGroup)
}

/** `--parameters` of every command that runs estimators on queries and keys. @param effect - what comes of it there */
export function parametersFlag(helpGroup: string | undefined, effect: string) {
  return oneText({
    ...(helpGroup && {helpGroup}),
    helpValue: 'FILE',
    description: `learned parameters, as rfa tune writes them (tuned.safetensors): ${effect}`,
  })
}

/** Which estimators, in which variants. @param grids - what runs where nothing is typed */
export function methodFlags(grids: Record<'standard' | 'quick', Grid>) {
  return {
    methods: nameList(
      'methods',
      methodChoices,
    )({
      char: 'm',
      helpGroup: 'GRID',
      description: `estimators: ${[...METHOD_NAMES, 'all'].join(', ')} ${defaultHelp(grids, grid => grid.methods)}`,
    }),
    plugin: pluginFlag(
      'GRID',
      'its estimators join those of --methods, and without --methods the default ones',
    ),
    projections: nameList(
      'projections',
      PROJECTION_CHOICES,
    )({
      helpGroup: 'GRID',
      description: `random matrices: ${PROJECTION_CHOICES.join(', ')} ${defaultHelp(grids, grid => grid.projections)}`,
    }),
    'orth-sign': orthSignFlag,
    'num-features': numberList(POSITIVE_INTEGER)({
      helpGroup: 'GRID',
      description: `number of random vectors M: lists a,b and ranges 64..1kx2, 64..512+64, with k = 1024 ${defaultHelp(grids, grid => grid.numFeatures)}`,
    }),
    preset: nameList(
      'presets',
      PRESET_NAMES,
    )({
      helpGroup: 'GRID',
      description: `released implementation to reproduce; methods without it run as exact: ${PRESET_NAMES.join(', ')} (default: exact)`,
    }),
    option: optionFlag,
  }
}

/** Seed, backend and threads: everything that computes has them. */
export const computeFlags = {
  seed: oneNumber(COUNT)({
    helpGroup: 'RUN',
    description: 'seed of every random draw (default: 0)',
  }),
  backend: oneName(
    'backends',
    BACKEND_CHOICES,
  )({
    helpGroup: 'RUN',
    description: `where to compute: ${BACKEND_CHOICES.join(', ')} (default: auto, the first of the others that runs; see rfa doctor)`,
  }),
  threads: oneNumber(THREADS)({
    helpGroup: 'RUN',
    description:
      'threads in all (default: one per processor). error-sweep and variance run that many cells in parallel; with fewer cells, each gets several threads. bench gives all threads to each cell in turn',
  }),
}

/** What a command that runs a grid of cells takes beside its grid. */
export const runFlags = {
  output: oneText({
    char: 'o',
    helpGroup: 'RUN',
    helpValue: 'DIR',
    description: 'folder of the run (default: results/<command>-<date>-<time>)',
  }),
  resume: toggle(
    'continue the run in --output (start it if the folder is empty): keep finished cells, retry failed ones, add cells of a larger plan; flags of the grid need not be repeated',
    'RUN',
  ),
  shard: shardFlag({
    helpGroup: 'RUN',
    description:
      'run only part I of N of the plan, each in its own --output folder: parts have about equal predicted cost, the same on every machine; rfa merge joins the folders. slurm: take the part from SLURM_ARRAY_TASK_ID, _MIN and _COUNT',
  }),
  quick: toggle('a smaller grid that takes seconds; other flags override it', 'RUN'),
  'dry-run': toggle('print the cells, the predicted time and memory, and stop', 'RUN'),
  timeout: oneNumber({...POSITIVE_NUMBER, what: 'a positive number of seconds'})({
    helpGroup: 'RUN',
    helpValue: 'SECONDS',
    description:
      'give up on a cell after this long; bench: on each of its processes (default: never)',
  }),
  force: toggle('run even if the predicted memory exceeds the free memory', 'RUN'),
  format: nameList(
    'formats',
    TABLE_FILES,
  )({
    helpGroup: 'RUN',
    description: `files to write besides records.jsonl: ${TABLE_FILES.join(', ')} (default: csv)`,
  }),
  details: detailsFlag('RUN'),
  plot: eitherWay('draw the most telling figure below the tables', 'RUN'),
  ...reportFlags,
  profile: Flags.boolean({
    default: false,
    helpGroup: 'RUN',
    exclusive: ['dry-run'],
    description:
      'write a CPU profile of each worker process, profile/worker-N.cpuprofile in the folder of the run, for Chrome DevTools, VS Code or speedscope.app; this slows what bench times',
  }),
  ...computeFlags,
}

/** The flags of every command that measures times. */
export const timedFlags = {
  'wait-quiet': oneDuration({
    helpGroup: 'RUN',
    description:
      'before anything is timed wait until other programs leave the processors alone, at most this long (default: no wait)',
  }),
  samples: Flags.boolean({
    default: false,
    helpGroup: 'RUN',
    ...notBeside('dry-run'),
    description:
      'write every single time as records_samples.csv, too; with --resume of a run that has ended also later',
  }),
}

/** The values of {@link runFlags}, with what every command has, and what was typed of the axes of draws. */
export type RunOptions = Omit<FlagValues<typeof runFlags>, 'backend' | 'quick' | 'seed'> & {
  quiet: boolean
  seed?: number | undefined
  samples?: boolean
  /** The file that the plan is from. Default: flags say it, or the run to go on with. */
  plan?: string | undefined
} & Partial<Pick<FlagValues<ReturnType<typeof methodFlags>>, 'num-features' | 'projections'>>
