/** The estimators as tables: all of them, one in detail, or all that honour a preset. */
import {z} from 'zod'
import type {Estimator} from '../attention/index.js'
import {otherNames, type PresetName, supportsOf} from '../attention/names.js'
import {type Block, type ColumnSpec, factTable, heading, list, table, text} from './document.js'

/** A size at which the length of phi is shown. */
export interface FeatureSize {
  /** M, the number of random vectors. */
  numFeatures: number
  /** D, the head dimension: features without random vectors are as long as that. */
  headDim: number
}

const optionFactsSchema = z.object({
  name: z.string().describe('As `--option NAME=VALUE` takes it.'),
  values: z.string().describe('What it takes, e.g. `number`, `log | max | none`.'),
  default: z.unknown().describe('Its value where nothing is said.'),
  description: z.string().describe('What it does.'),
})
type OptionFacts = z.infer<typeof optionFactsSchema>

/** Which forms an estimator has under default options. */
const formsSchema = z.object({
  bidirectional: z.boolean().describe('Every query sees every key.'),
  causal: z.boolean().describe('Query i sees the keys up to i.'),
  cross: z.boolean().describe('Numbers of queries and keys may differ, L and S.'),
  decode: z.boolean().describe('Token by token, with a state.'),
  key_mask: z.boolean().describe('Keys can be masked out.'),
})

const presetFactsSchema = z.object({
  preset: z.string().describe('As `--preset` takes it.'),
  quirk: z.string().describe('What that library does otherwise, and what it costs.'),
  options: z.record(z.string(), z.unknown()).describe('Options that it sets, by their names.'),
})

/** An estimator as `--json` prints it: the declared facts, without functions. */
export const methodFactsSchema = z.object({
  name: z.string().describe('As `--methods` takes it.'),
  title: z.string().describe('What it is, in a line.'),
  also_called: z
    .array(z.string())
    .describe('Names of papers and libraries for it, which commands do not take.'),
  citation: z.string().describe('Where it was published.'),
  formula: z.string().describe('What it computes.'),
  advice: z.string().describe('When to take it, and at what M.'),
  kernel: z.string().nullable().describe('The kernel that its features estimate; `null`: none.'),
  target: z
    .string()
    .nullable()
    .describe('What it converges to under default options; `null`: nothing but itself.'),
  unbiased_for: z.string().describe('Kernel entries, whole outputs, `exact`, or `none`.'),
  non_negative: z.boolean().describe('No attention weight is ever below zero.'),
  rows_sum_to_one: z.boolean().describe('Weights of a row sum to one in exact arithmetic.'),
  supports: formsSchema.describe('Which forms it has under default options.'),
  takes_gate: z.boolean().describe('It takes forget gates.'),
  default_projection: z
    .string()
    .nullable()
    .describe('Random matrix unless another is named; `null`: no random vectors.'),
  sized_by: z
    .string()
    .nullable()
    .describe('What `--num-features` counts; `null`: it means nothing.'),
  noise: z.array(z.string()).describe('Arrays drawn besides the random matrix, or given.'),
  parameters: z.array(z.string()).describe('Learned arrays that it can take.'),
  calibrates: z.boolean().describe('Its features depend on statistics of queries and keys.'),
  feature_dim: z.int().describe('F, length of phi at the size asked for; 0: no features.'),
  options: z.array(optionFactsSchema).describe('Its options.'),
  presets: z.array(presetFactsSchema).describe('What each preset changes.'),
  plugin: z.string().nullable().describe('Module that it comes from; `null`: it is built in.'),
})
export type MethodFacts = z.infer<typeof methodFactsSchema>

/** A shape to ask for names of arrays, which do not depend on it. */
const ONE_TOKEN = {batch: 1, heads: 1, queryLen: 1, keyLen: 1, causal: false}

/**
 * The declared facts of one estimator.
 *
 * @param size - where `feature_dim` is read
 * @param plugin - the module that it comes from. Default: it is built in
 */
export function methodFacts(
  estimator: Estimator,
  size: FeatureSize,
  plugin: string | null = null,
): MethodFacts {
  const {presets} = estimator
  const defaults = estimator.options.parse({})
  const target = estimator.target(defaults)
  const shape = {...ONE_TOKEN, ...size, valueDim: size.headDim}
  const arrays = (named: object | undefined) => Object.keys(named ?? {})
  return {
    name: estimator.name,
    title: estimator.title,
    also_called: plugin === null ? otherNames(estimator.name) : [],
    citation: estimator.citation,
    formula: estimator.formula,
    advice: estimator.advice,
    kernel: estimator.kernel?.formula(defaults) ?? null,
    target: target?.label ?? null,
    unbiased_for: estimator.unbiasedFor,
    non_negative: estimator.nonNegative,
    rows_sum_to_one: estimator.rowsSumToOne,
    supports: formsOf(estimator, defaults),
    takes_gate: estimator.takesGate ?? false,
    default_projection: estimator.projection?.default ?? null,
    sized_by: estimator.projection ? 'random vectors' : (estimator.sizedBy ?? null),
    noise: arrays(estimator.noise?.(shape, defaults)),
    parameters: arrays(estimator.parameters?.(shape, defaults)),
    calibrates: estimator.calibrates ?? false,
    feature_dim: estimator.featureDim(size.numFeatures, size.headDim, defaults),
    options: Object.entries(estimator.options.shape).map(optionFacts),
    presets: Object.entries(presets).map(([preset, {quirk, options}]) => ({
      preset,
      quirk,
      options: {...options},
    })),
    plugin,
  }
}

/** The forms under these options, named as files name things. */
function formsOf(estimator: Estimator, options: Record<string, unknown>): MethodFacts['supports'] {
  const {keyMask, ...forms} = supportsOf(estimator, options)
  return {...forms, key_mask: keyMask}
}

/** Method to try first. */
const FIRST = 'favor-pos'

/** Groups of methods, the first that fits counts. */
const GROUPS: readonly {title: string; has(method: MethodFacts): boolean}[] = [
  {title: 'from plug-ins', has: ({plugin}) => plugin !== null},
  {title: 'exact softmax', has: ({unbiased_for}) => unbiased_for === 'exact'},
  {title: 'yardsticks', has: ({title}) => title.includes('yardstick')},
  {
    title: 'random features of softmax',
    has: ({unbiased_for}) => unbiased_for === 'softmax-kernel' || unbiased_for === 'smreg-kernel',
  },
  {
    title: 'random features of other kernels',
    has: ({feature_dim, sized_by}) => feature_dim > 0 && sized_by !== null,
  },
  {title: 'fixed features', has: ({feature_dim}) => feature_dim > 0},
  {title: 'samples, chunks, landmarks', has: () => true},
]
/** Groups as the list has them. */
const SHOWN_ORDER = [1, 3, 4, 5, 6, 2, 0]

/** The names of all estimators by what they do; the first to try has a star. */
export function methodsScreen(methods: readonly MethodFacts[]): Block[] {
  const groupOf = (method: MethodFacts) => GROUPS.find(({has}) => has(method))
  const rows = SHOWN_ORDER.flatMap(at => {
    const group = GROUPS[at]!
    const names = methods.filter(method => groupOf(method) === group).map(({name}) => name)
    const shown = names.map(name => (name === FIRST ? `${name}*` : name))
    return names.length > 0 ? [{title: group.title, names: shown.join(', ')}] : []
  })
  return [
    table(
      [
        {title: 'group', align: 'left', cell: ({title}) => title},
        {title: 'methods', flexible: true, cell: ({names}) => names},
      ],
      rows,
    ),
    ...list([
      `start with ${FIRST} (*): positive features, the plain estimate of softmax attention`,
      `formula, options and presets: rfa methods ${FIRST} rfa`,
      'titles, kernels and forms of all: rfa methods --details',
      `names elsewhere: ${methods
        .filter(({also_called}) => also_called.length > 0)
        .map(({name, also_called}) => `${also_called.join(', ')} (${name})`)
        .join(', ')}`,
    ]),
  ]
}

export function methodsReport(methods: readonly MethodFacts[], size: FeatureSize): Block[] {
  return [
    table(overviewColumns(size), methods),
    ...list(
      methods
        .filter(({plugin}) => plugin !== null)
        .map(({name, plugin}) => `${name} comes from ${plugin}`),
    ),
    text('rfa methods NAME... shows formula, options and presets.'),
  ]
}

/** Columns of the overview; on narrow terminals the citations go first, then the titles. */
function overviewColumns({numFeatures}: FeatureSize): ColumnSpec<MethodFacts>[] {
  const left = {align: 'left'} as const
  const supports = (title: string, priority: number, read: (of: MethodFacts) => boolean) => ({
    ...left,
    title,
    priority,
    cell: (row: MethodFacts) => (read(row) ? 'yes' : 'no'),
  })
  return [
    {...left, title: 'name', cell: ({name}) => name},
    {title: 'title', flexible: true, priority: 3, cell: ({title}) => title},
    {title: 'kernel', flexible: true, cell: ({kernel, target}) => kernel ?? target ?? '-'},
    {
      title: `F at M=${numFeatures}`,
      cell: ({feature_dim}) => (feature_dim > 0 ? String(feature_dim) : '-'),
    },
    supports('causal', 1, row => row.supports.causal),
    supports('cross', 2, row => row.supports.cross),
    supports('decode', 2, row => row.supports.decode),
    {...left, title: 'unbiased for', priority: 1, cell: row => row.unbiased_for},
    {title: 'citation', flexible: true, priority: 4, cell: ({citation}) => citation},
  ]
}

/** Everything about one estimator. @param preset - the only one to show; all when not given */
export function methodReport(method: MethodFacts, preset?: string): Block[] {
  const {supports} = method
  const able = Object.entries(supports).filter(([, yes]) => yes)
  const facts: [string, string][] = [
    ['also called', listOr(method.also_called, 'nothing else')],
    ['formula', method.formula],
    ['kernel', method.kernel ?? 'none'],
    ['converges to', method.target ?? 'nothing but itself'],
    ['unbiased for', method.unbiased_for],
    ['weights', method.non_negative ? 'never negative' : 'can be negative'],
    ['rows sum to one', method.rows_sum_to_one ? 'yes' : 'no'],
    [
      'supports',
      able.map(([name]) => SUPPORT_NAMES[name] ?? name).join(', ') ||
        'bidirectional self-attention only',
    ],
    ['--num-features counts', method.sized_by ?? 'nothing here'],
    ['default projection', method.default_projection ?? 'none'],
    ['also drawn', listOr(method.noise, 'nothing')],
    ['learned arrays', listOr(method.parameters, 'none')],
    [
      'depends on data',
      method.calibrates ? 'statistics of queries and keys set its features' : 'no',
    ],
    ['source', method.citation],
    ...(method.plugin === null ? [] : [['plug-in', method.plugin] satisfies [string, string]]),
  ]
  return [
    heading(1, `${method.name}: ${method.title}`),
    ...(method.advice === '' ? [] : [text(method.advice)]),
    factTable(facts),
    ...optionBlocks(method),
    ...presetBlocks(method, preset),
  ]
}

function listOr(names: readonly string[], none: string): string {
  return names.length > 0 ? names.join(', ') : none
}

/** What an estimator can do beyond attention of a sequence to itself, in words. */
const SUPPORT_NAMES: Readonly<Record<string, string>> = {
  causal: 'causal',
  cross: 'cross-attention',
  decode: 'decoding',
  key_mask: 'key masks',
}

const EXACT = 'exact is the mathematically right form of every method.'

/** Options with their defaults, or a sentence that there are none. */
function optionBlocks({name, options}: MethodFacts): Block[] {
  if (options.length === 0) return [text(`${name} has no options.`)]
  return [
    heading(2, 'Options (--option NAME=VALUE)'),
    table(
      [
        {title: 'option', align: 'left', cell: option => option.name},
        {title: 'default', align: 'left', cell: option => String(option.default)},
        {title: 'values', align: 'left', cell: option => option.values},
        {title: 'meaning', flexible: true, cell: option => option.description},
      ],
      options,
    ),
  ]
}

/** Presets with their quirks; nothing for a method that honours none, unless one was asked for. */
function presetBlocks({name, presets}: MethodFacts, wanted?: string): Block[] {
  const shown = presets.filter(({preset}) => wanted === undefined || preset === wanted)
  if (shown.length === 0) {
    if (wanted === undefined) return []
    if (wanted === 'exact') return [text(EXACT)]
    const names = presets.map(({preset}) => preset)
    const own = listOr(names, 'none')
    return [text(`${name} runs as exact under ${wanted}; presets that change it: ${own}.`)]
  }
  return [
    heading(2, 'Presets (--preset NAME)'),
    table(
      [
        {title: 'preset', align: 'left', cell: ({preset}) => preset},
        {title: 'quirk', flexible: true, cell: ({quirk}) => quirk},
      ],
      shown,
    ),
  ]
}

/** What one preset does to each estimator that honours it. */
export function presetReport(methods: readonly MethodFacts[], preset: PresetName): Block[] {
  const rows = methods.flatMap(({name, presets}) =>
    presets.filter(own => own.preset === preset).map(({quirk}) => ({name, quirk})),
  )
  if (preset === 'exact') return [text(EXACT)]
  if (rows.length === 0) return [text(`No method honours ${preset}.`)]
  return [
    heading(1, `Preset ${preset}`),
    table(
      [
        {title: 'method', align: 'left', cell: ({name}) => name},
        {title: 'quirk', flexible: true, cell: ({quirk}) => quirk},
      ],
      rows,
    ),
    text('The other methods run as exact under it.'),
  ]
}

/** What is read of an option's schema: its JSON Schema, which hides how it was declared. */
interface OptionSchema {
  toJSONSchema?: () => JsonSchema
  description?: string | undefined
}

interface JsonSchema {
  type?: string
  enum?: readonly unknown[]
  anyOf?: readonly JsonSchema[]
  default?: unknown
}

/** Facts of one option, from the schema that also checks its values. */
function optionFacts([name, schema]: [string, unknown]): OptionFacts {
  const json = (schema as OptionSchema).toJSONSchema?.() ?? {}
  return {
    name,
    values: valuesOf(json),
    default: json.default,
    description: (schema as OptionSchema).description ?? '',
  }
}

/** What a schema accepts, as one reads it in a manual. */
function valuesOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.join(' | ')
  if (schema.anyOf) return schema.anyOf.map(valuesOf).join(' | ')
  return schema.type ?? 'any'
}
