/**
 * The flags that several commands share, each parsed to a typed value here.
 *
 * No flag has a built-in default: a plan must be able to tell what was typed from what `--quick`
 * or the standard grid (plans/defaults.ts) supplies.
 */
import {extname} from 'node:path'
import * as Flags from '@oclif/core/flags'
import type * as Interfaces from '@oclif/core/interfaces'
import {
  METHOD_NAMES,
  methodNames,
  ORTH_SIGNS,
  PRESET_NAMES,
  PROJECTION_NAMES,
  unknownMethod,
} from '../attention/names.js'
import {BACKEND_CHOICES} from '../backends/index.js'
import {describe, expected, unknownName} from '../errors.js'
import {LAYOUTS} from '../inputs/layout.js'
import {RUN_FORMATS} from '../runner/formats.js'
import {defaultHelp, type Grid} from './plans/defaults.js'
import {
  COUNT,
  type NumberRule,
  POSITIVE_INTEGER,
  POSITIVE_NUMBER,
  parseNumber,
  parseNumberItem,
  THREADS,
} from './ranges.js'
import {shardFlag} from './shard-flag.js'

/** What `--methods` takes: the names of the registry, those of plug-ins among them once they are loaded, or all. */
const methodChoices = () => [...methodNames(), 'all']

/** What `--projections` takes: the names of the registry, or all of them. */
const PROJECTION_CHOICES = [...PROJECTION_NAMES, 'all'] as const

/** What the parser makes of flags: one that may be missing may be left out. */
export type FlagValues<Definitions> =
  Definitions extends Interfaces.FlagInput<infer Values> ? MaybeMissing<Values> : never
type MaybeMissing<Values> = {
  [Name in keyof Values as undefined extends Values[Name] ? never : Name]: Values[Name]
} & {[Name in keyof Values as undefined extends Values[Name] ? Name : never]?: Values[Name]}

/** A switch that is off unless typed. */
export function toggle(description: string, helpGroup?: string) {
  return Flags.boolean({default: false, description, ...(helpGroup && {helpGroup})})
}

/** Names of a registry, or how to ask for them where it grows. */
type Names<Name> = readonly Name[] | (() => readonly Name[])

/** A comma list of names; an unknown one is refused with the nearest known one. */
export function nameList<Name extends string>(kind: string, names: Names<Name>) {
  return Flags.custom<Name>({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    helpValue: 'NAME,NAME',
    ...completedWith(names),
    parse: async (text, _context, {name}) => known(text, `--${name}`, kind, names),
  })
}

/** Names that a shell may complete; the parser does not look at them. */
export function completedWith(choices: Names<string>): {choices: Names<string>} {
  return {choices}
}

/** One name out of a registry. */
export function oneName<Name extends string>(kind: string, names: Names<Name>): OneOf<Name> {
  const flag = Flags.custom<string>({
    helpValue: 'NAME',
    ...completedWith(names),
    parse: async (text, _context, {name}) => known(text, `--${name}`, kind, names),
  })
  return flag as unknown as OneOf<Name> // whose overloads tell no name of a registry from a list
}
type OneOf<Name> = Interfaces.FlagDefinition<
  Name,
  Interfaces.CustomOptions,
  {multiple: false; requiredOrDefaulted: false}
>

/** A file, a folder or a name: anything but nothing. */
export const oneText = Flags.custom<string>({
  parse: async (text, _context, {name}) => present(text, `--${name}`),
})

/** Endings of files that hold Markdown; a file without one may hold anything. */
const MARKDOWN = /^(\.(md|markdown|mdown|txt)|\.\d.*|)$/i

/** A file for Markdown, or `-`. */
export const markdownFile = Flags.custom<string>({
  helpValue: 'FILE',
  parse: async (text, _context, {name}) => {
    const path = present(text, `--${name}`)
    const ending = extname(path)
    if (MARKDOWN.test(ending)) return path
    const what = 'a Markdown file, ending in .md, or - for stdout'
    throw expected('USAGE', `--${name}`, what, path, ...insteadOfMarkdown(ending.toLowerCase()))
  },
})

/** A file for an HTML page, or `-`. */
export const htmlFile = Flags.custom<string>({
  helpValue: 'FILE',
  parse: async (text, _context, {name}) => {
    const path = present(text, `--${name}`)
    if (path === '-' || /^(\.html?|)$/i.test(extname(path))) return path
    throw expected('USAGE', `--${name}`, 'an HTML file, ending in .html, or - for stdout', path)
  },
})

/** Where else to find what a file of this ending would hold. */
function insteadOfMarkdown(ending: string): string[] {
  const journal = `the folder of a run has it: records.csv, summary.json`
  if (ending === '.csv' || ending === '.tsv') return [journal]
  if (ending === '.json') return [`${journal}; --json prints JSON on stdout`]
  if (/^\.html?$/.test(ending)) return ['--html writes a page for browsers']
  return ['write .md, which other programs convert, pandoc among them']
}

/** A comma list of files; a comma within a name is written `\\,`. */
export const fileList = Flags.custom<string>({
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  helpValue: 'FILE,FILE',
  parse: async (text, _context, {name}) => present(text, `--${name}`),
})

/** @throws {USAGE} for a text without anything in it: most often a variable of a script that was never set */
export function present(text: string, where: string): string {
  if (text.trim() !== '') return text
  throw expected('USAGE', where, 'a name', 'an empty one', 'look whether a variable was not set')
}

/** A list of numbers and ranges (ranges.ts); each item of the value is itself a list. */
export function numberList(rule: NumberRule) {
  return Flags.custom<readonly number[]>({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    helpValue: 'N,N',
    parse: async (text, _context, {name}) => {
      if (text.trim() === '') throw emptyItem(`--${name}`, rule.what)
      return parseNumberItem(text, `--${name}`, rule)
    },
  })
}

/** One number. */
export function oneNumber(rule: NumberRule) {
  return Flags.custom<number>({
    helpValue: 'N',
    parse: async (text, _context, {name}) => parseNumber(text, `--${name}`, rule),
  })
}

/** An option of an estimator as typed: `name=value`, or `method.name=value` for one method only. */
export interface OptionAssignment {
  method: string | null
  name: string
  value: string
}

/** Reads `tau=0.5` or `rfa.tau=0.5`. @throws {BAD_OPTION} */
export function parseOptionAssignment(text: string, where: string): OptionAssignment {
  const match = /^(?:([^.=]+)\.)?([^.=\s]+)=(.+)$/.exec(text.trim())
  if (!match) {
    throw expected('BAD_OPTION', where, 'name=value or method.name=value', describe(text))
  }
  const [, method, name = '', value = ''] = match
  if (method !== undefined) known(method, where, 'methods', methodNames)
  return {method: method ?? null, name, value}
}

/** The name itself, or the error that suggests the nearest one. @throws {UNKNOWN_NAME} */
function known<Name extends string>(
  text: string,
  where: string,
  kind: string,
  choices: Names<Name>,
): Name {
  const names = typeof choices === 'function' ? choices() : choices
  const found = names.find(name => name === text)
  if (found === undefined) {
    if (text === '') throw emptyItem(where, `one of the ${kind} ${names.join(', ')}`)
    throw kind === 'methods'
      ? unknownMethod(where, text, names)
      : unknownName(where, kind, text, names)
  }
  return found
}

/** A comma at the end of a word: what follows the space after it is a word of its own. */
function emptyItem(where: string, what: string) {
  return expected('USAGE', where, what, 'nothing', 'write lists with commas and no spaces: a,b')
}

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
    'signs of orthogonal projections: uniform (haar, default), or as LAPACK leaves them (raw), as official codes do: biased',
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
    description: `module with an estimator of your own, may be repeated: ${effect}; RFA_PLUGINS in the environment names more, separated as in PATH`,
  })
}

/** `--layer`: numbers and ranges, or `all`; each item of the value is one or the other. */
const layerList = Flags.custom<'all' | readonly number[]>({
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  helpValue: 'N,N',
  ...completedWith(['all']),
  parse: async (text, _context, {name}) => {
    const where = `--${name}`
    if (text.trim() === '') throw emptyItem(where, `all, or ${COUNT.what}`)
    // layers are counted one by one, where other ranges multiply
    const item = /^\s*\w+\.\.\w+\s*$/.test(text) ? `${text.trim()}+1` : text
    return item.trim() === 'all' ? 'all' : parseNumberItem(item, where, COUNT)
  },
})

/** Where the arrays of files are, for every command that reads them; without {@link layoutFlag} and the files. */
export function arrayFlags(helpGroup?: string) {
  const group = helpGroup && {helpGroup}
  return {
    layer: layerList({
      ...group,
      description:
        'of a file with several layers (arrays layers.0.q, layers.0.k, layers.0.v and so on) those of these numbers (lists a,b and ranges 0..11), or all (default: all, where the file has no arrays q, k, v besides)',
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
        'array [B, S] of the keys that take part, nonzero: yes (default: key_mask, if the file has one)',
    }),
  }
}

/** `--scale` of every command that computes logits. @param besides - what is said after its default */
export function scaleFlag(helpGroup?: string, besides = '') {
  return oneNumber(POSITIVE_NUMBER)({
    ...(helpGroup && {helpGroup}),
    helpValue: 'BETA',
    description: `factor on q.k, the scale of logits (default: what the metadata of the file say as scale, else 1/sqrt(D))${besides}`,
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
      description: `whose implementation to reproduce; methods without it run as exact: ${PRESET_NAMES.join(', ')} (default: exact)`,
    }),
    option: optionFlag,
  }
}

/** The same flag among those of a group. @param helpValue - what its values look like, in place of its own */
export function grouped<F extends {helpGroup?: string}>(
  flag: F,
  helpGroup: string,
  helpValue?: string,
): F {
  return {...flag, helpGroup, ...(helpValue !== undefined && {helpValue})}
}

/** The same flag among those of no group. @param description - in place of its own */
export function ungrouped<F extends {helpGroup?: string; description?: string}>(
  flag: F,
  description = flag.description,
): F {
  const {helpGroup: _group, ...rest} = flag
  return {...rest, description} as F
}

/**
 * Flags that may not stand beside one, as oclif's `exclusive` has them: usage shows those as a choice, with nothing in the place of a
 * flag that another choice or no part of the command has.
 */
export function notBeside(...flags: string[]) {
  return {relationships: [{type: 'none' as const, flags}]}
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
    description: `where to compute: ${BACKEND_CHOICES.join(', ')} (default: auto, the first of the others that runs; rfa doctor tells which do)`,
  }),
  threads: oneNumber(THREADS)({
    helpGroup: 'RUN',
    description:
      'threads in all (default: one per processor). error-sweep and variance compute as many cells at once, each in a process of its own; fewer cells share the threads out. bench gives all of them to one cell after the other',
  }),
}

/** Whether results are drawn in the terminal; `undefined` where neither form was typed. */
export function plotFlag(description: string, helpGroup?: string) {
  const flag = Flags.boolean({allowNo: true, description, ...(helpGroup && {helpGroup})})
  return flag as Interfaces.BooleanFlag<boolean | undefined> // the library's type has it always there
}

/** What a command that runs a grid of cells takes beside its grid. */
export const runFlags = {
  output: oneText({
    char: 'o',
    helpGroup: 'RUN',
    helpValue: 'DIR',
    description: 'folder of the run (default: results/<command>-<date>-<time>)',
  }),
  plan: oneText({
    helpGroup: 'RUN',
    helpValue: 'FILE',
    description:
      'run the plan in this file, which --dry-run --json has printed: nothing else of the grid is typed beside it',
  }),
  resume: toggle(
    'go on with the run in --output, whose plan need not be typed again: finished cells are kept, failed ones run again, a typed plan with more cells adds them; where there is none, start it',
    'RUN',
  ),
  shard: shardFlag({
    helpGroup: 'RUN',
    ...notBeside('baseline', 'save-baseline'),
    description:
      'run part I of N of the plan alone, in a folder of its own: cells are dealt evenly by predicted cost, the same way on every machine; rfa merge joins the folders. slurm: the part that SLURM_ARRAY_TASK_ID, _MIN and _COUNT say',
  }),
  quick: toggle('a grid of seconds; flags given beside it win', 'RUN'),
  'dry-run': toggle('print the cells, the predicted time and memory, and stop', 'RUN'),
  timeout: oneNumber(POSITIVE_NUMBER)({
    helpGroup: 'RUN',
    helpValue: 'SECONDS',
    description: 'give up on a cell after this long (default: never)',
  }),
  force: toggle('run even when the predicted memory exceeds what this machine has free', 'RUN'),
  format: nameList(
    'formats',
    RUN_FORMATS,
  )({
    helpGroup: 'RUN',
    description: 'files to write beside the journal: csv, json (default: csv)',
  }),
  plot: plotFlag(
    'draw the most telling figure below the tables (default: on terminals of 80 columns or more that show Braille)',
    'RUN',
  ),
  profile: Flags.boolean({
    default: false,
    helpGroup: 'RUN',
    exclusive: ['dry-run'],
    description:
      'have each worker process write where its time went, as profile/worker-N.cpuprofile in the folder of the run; Chrome DevTools, VS Code and speedscope.app open it. Times of bench are then those under a profiler',
  }),
  ...computeFlags,
}

/** The values of {@link runFlags}, with what every command has, and what was typed of the axes of draws. */
export type RunOptions = Omit<FlagValues<typeof runFlags>, 'backend'> & {
  quiet: boolean
  samples?: boolean
} & Partial<Pick<FlagValues<ReturnType<typeof methodFlags>>, 'num-features' | 'projections'>>
