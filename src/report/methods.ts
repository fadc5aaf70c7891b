/** The estimators as tables: all of them, one in detail, or all that honour a preset. */
import type {Estimator} from '../attention/index.js'
import {type PresetName, supportsOf} from '../attention/names.js'
import {type Block, type ColumnSpec, heading, table, text} from './document.js'

/** A size at which the length of phi is shown. */
export interface FeatureSize {
  /** M, the number of random vectors. */
  numFeatures: number
  /** D, the head dimension: features without random vectors are as long as that. */
  headDim: number
}

/** An estimator as `--json` prints it: the declared facts, without functions. */
export interface MethodFacts {
  /** As `--methods` takes it. */
  name: string
  title: string
  citation: string
  formula: string
  advice: string
  /** The kernel that its features estimate, `null` where it has none. */
  kernel: string | null
  /** What it converges to under default options, `null` where nothing but itself. */
  target: string | null
  /** Kernel entries, whole outputs, `exact`, or `none`. */
  unbiased_for: string
  /** Whether no attention weight is ever below zero. */
  non_negative: boolean
  /** Whether the weights of a row sum to one in exact arithmetic. */
  rows_sum_to_one: boolean
  supports: Estimator['supports']
  /** Whether it takes forget gates. */
  takes_gate: boolean
  /** Random matrix unless another is named; `null` without random vectors. */
  default_projection: string | null
  /** What `--num-features` counts; `null` where it means nothing. */
  sized_by: string | null
  /** Arrays that are drawn beside the random matrix, or given. */
  noise: string[]
  /** Learned arrays that it can take. */
  parameters: string[]
  /** Whether its features depend on statistics of queries and keys. */
  calibrates: boolean
  /** Length of phi at the size asked for; 0 without features. */
  feature_dim: number
  options: OptionFacts[]
  /** What each preset changes, and what that costs. */
  presets: {preset: string; quirk: string; options: Record<string, unknown>}[]
}

/** One option of an estimator. */
export interface OptionFacts {
  name: string
  /** What it takes, e.g. `number`, `log | max | none`. */
  values: string
  default: unknown
  description: string
}

/** A shape to ask for names of arrays, which do not depend on it. */
const ONE_TOKEN = {batch: 1, heads: 1, queryLen: 1, keyLen: 1, causal: false}

/** The declared facts of one estimator. @param size - where `feature_dim` is read */
export function methodFacts(estimator: Estimator, size: FeatureSize): MethodFacts {
  const {presets} = estimator
  const defaults = estimator.options.parse({})
  const target = estimator.target(defaults)
  const shape = {...ONE_TOKEN, ...size, valueDim: size.headDim}
  const arrays = (named: object | undefined) => Object.keys(named ?? {})
  return {
    name: estimator.name,
    title: estimator.title,
    citation: estimator.citation,
    formula: estimator.formula,
    advice: estimator.advice,
    kernel: estimator.kernel?.formula(defaults) ?? null,
    target: target?.label ?? null,
    unbiased_for: estimator.unbiasedFor,
    non_negative: estimator.nonNegative,
    rows_sum_to_one: estimator.rowsSumToOne,
    supports: supportsOf(estimator, defaults),
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
  }
}

/** The table of all estimators. */
export function methodsReport(methods: readonly MethodFacts[], size: FeatureSize): Block[] {
  return [
    table(overviewColumns(size), methods),
    text('rfa methods NAME shows formula, options and presets of one of them.'),
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
    {...left, title: 'title', flexible: true, priority: 3, cell: ({title}) => title},
    {...left, title: 'kernel', flexible: true, cell: ({kernel, target}) => kernel ?? target ?? '-'},
    {
      title: `F at M=${numFeatures}`,
      cell: ({feature_dim}) => (feature_dim > 0 ? String(feature_dim) : '-'),
    },
    supports('causal', 1, row => row.supports.causal),
    supports('cross', 2, row => row.supports.cross),
    supports('decode', 2, row => row.supports.decode),
    {...left, title: 'unbiased for', priority: 1, cell: row => row.unbiased_for},
    {...left, title: 'citation', flexible: true, priority: 4, cell: ({citation}) => citation},
  ]
}

/** Everything about one estimator. @param preset - the only one to show; all when not given */
export function methodReport(method: MethodFacts, preset?: string): Block[] {
  const {supports} = method
  const able = Object.entries(supports).filter(([, yes]) => yes)
  const facts: [string, string][] = [
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
    ['drawn beside it', listOr(method.noise, 'nothing')],
    ['learned arrays', listOr(method.parameters, 'none')],
    [
      'depends on data',
      method.calibrates ? 'statistics of queries and keys set its features' : 'no',
    ],
    ['source', method.citation],
  ]
  return [
    heading(1, `${method.name}: ${method.title}`),
    text(method.advice),
    table(
      [
        {title: 'fact', align: 'left', cell: ([name]) => name},
        {title: 'value', align: 'left', flexible: true, cell: ([, value]) => value},
      ],
      facts,
    ),
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
  keyMask: 'key masks',
}

const EXACT = 'exact is the mathematically right form of every method.'

/** Options with their defaults, or a sentence that there are none. */
function optionBlocks({name, options}: MethodFacts): Block[] {
  if (options.length === 0) return [text(`${name} has no options of its own.`)]
  return [
    heading(2, 'Options (--option NAME=VALUE)'),
    table(
      [
        {title: 'option', align: 'left', cell: option => option.name},
        {title: 'default', align: 'left', cell: option => String(option.default)},
        {title: 'values', align: 'left', cell: option => option.values},
        {title: 'meaning', align: 'left', flexible: true, cell: option => option.description},
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
    const own = listOr(
      presets.map(({preset}) => preset),
      'none',
    )
    return [text(`${name} runs as exact under ${wanted}; presets that change it: ${own}.`)]
  }
  return [
    heading(2, 'Presets (--preset NAME)'),
    table(
      [
        {title: 'preset', align: 'left', cell: ({preset}) => preset},
        {title: 'quirk', align: 'left', flexible: true, cell: ({quirk}) => quirk},
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
        {title: 'quirk', align: 'left', flexible: true, cell: ({quirk}) => quirk},
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

/** The part of a JSON Schema that options use. */
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
