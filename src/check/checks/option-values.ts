/** Values of an estimator's options off their defaults, from the schema that declares them. */
import type {Estimator} from '../../attention/index.js'
import type {RandomStream} from '../../random/index.js'

/** The parts of JSON Schema that options use. */
interface Json {
  type?: string
  enum?: readonly string[]
  anyOf?: readonly Json[]
  default?: unknown
  pattern?: string
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  exclusiveMaximum?: number
  multipleOf?: number
}

export interface OptionFacts {
  name: string
  default: unknown
  /**
   * Values other than the default: all of an enum, the other boolean, or a given number of random numbers and
   * guards. None if the schema is of another kind (text, lists), or has no other value.
   *
   * @param size - the magnitude at which guards act
   */
  draw(stream: RandomStream, count: number, size: number): unknown[]
}

export function optionFacts({options}: Pick<Estimator, 'options'>): OptionFacts[] {
  return Object.entries(options.shape).map(([name, schema]) => {
    const json = jsonOf(schema as OptionSchema)
    const allows = (value: unknown) =>
      value !== json.default && (schema as OptionSchema).safeParse(value).success
    return {
      name,
      default: json.default,
      draw: (stream, count, size) =>
        valuesOf(json, json.default, {stream, count, size, allows}).filter(allows),
    }
  })
}

interface OptionSchema {
  toJSONSchema(): Json
  safeParse(value: unknown): {success: boolean}
}

/** What JSON Schema says of an option; nothing where it has no words for it, as for transforms and dates. */
function jsonOf(schema: OptionSchema): Json {
  try {
    return schema.toJSONSchema()
  } catch {
    return {}
  }
}

interface Draw {
  stream: RandomStream
  count: number
  size: number
  /** Whether a value is off the default, and one that the schema takes. */
  allows(value: unknown): boolean
}

function valuesOf(json: Json, byDefault: unknown, draw: Draw): unknown[] {
  if (json.anyOf) return json.anyOf.flatMap(part => valuesOf(part, byDefault, draw))
  if (json.enum) return [...json.enum]
  if (json.type === 'null') return [null]
  if (json.type === 'boolean') return [true, false]
  if (json.type === 'string' && json.pattern?.includes('clamp')) return guards(draw)
  if (json.type === 'number' || json.type === 'integer') {
    return numbersOf(json, Number(byDefault ?? 0), draw)
  }
  return []
}

const POLICIES = ['add', 'clamp', 'abs-clamp', 'nudge']

/** Policies one after the other from any of them, at bounds near the denominators that they act on. */
function guards({stream, count, size}: Draw): string[] {
  const first = Math.floor(POLICIES.length * stream.uniform())
  return Array.from({length: count}, (_, i) => {
    const bound = size * (0.9 + 0.2 * stream.uniform())
    return `${POLICIES[(first + i) % POLICIES.length]}:${Number(bound.toPrecision(3))}`
  })
}

/** Draws before a range is taken to hold none of what they suggest. */
const TRIES = 100

/** The given number of random values; the ones nearest to the default if the range has hardly any. */
function numbersOf(json: Json, byDefault: number, draw: Draw): number[] {
  const drawn: number[] = []
  for (let tries = 0; tries < TRIES && drawn.length < draw.count; tries++) {
    const x = numberOf(json, byDefault, draw.stream)
    if (insideOf(json, x) && draw.allows(x)) drawn.push(x)
  }
  if (drawn.length === draw.count) return drawn
  return landmarks(json)
    .filter(draw.allows)
    .sort((a, b) => Math.abs(a - byDefault) - Math.abs(b - byDefault))
    .slice(0, draw.count)
}

/**
 * Off the default by a factor between 1/3 and 2/3 or 3/2 and 5/2 (from 0: between 0.1 and 0.5); integers between 2 and 5,
 * in steps.
 */
function numberOf({type, multipleOf: step = 1}: Json, byDefault: number, stream: RandomStream) {
  const u = stream.uniform()
  if (type === 'integer') return step * (2 + Math.floor(4 * u))
  const x = byDefault === 0 ? 0.1 + 0.4 * u : byDefault * (u < 0.5 ? (1 + 2 * u) / 3 : 0.5 + 2 * u)
  return Number(x.toPrecision(3))
}

/** The ends of a range; those that only say that a number is an integer are none. */
function rangeOf(json: Json): [number, number] {
  const {minimum = json.exclusiveMinimum ?? -Infinity} = json
  const {maximum = json.exclusiveMaximum ?? Infinity} = json
  return [
    minimum <= Number.MIN_SAFE_INTEGER ? -Infinity : minimum,
    maximum >= Number.MAX_SAFE_INTEGER ? Infinity : maximum,
  ]
}

function insideOf(json: Json, x: number): boolean {
  const [minimum, maximum] = rangeOf(json)
  return x > minimum && x < maximum
}

/** Ends of a range, their neighbours and its middle, each once, in steps where there are steps. */
function landmarks(json: Json): number[] {
  const [minimum, maximum] = rangeOf(json)
  const step = json.multipleOf ?? (json.type === 'integer' ? 1 : undefined)
  const next = step ?? 1
  const middle = (minimum + maximum) / 2
  const points = [minimum, minimum + next, middle, maximum - next, maximum]
  const inSteps = points
    .filter(Number.isFinite)
    .flatMap(x => (step ? [step * Math.ceil(x / step), step * Math.floor(x / step)] : [x]))
  return [...new Set(inSteps)]
}
