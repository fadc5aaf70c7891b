/** Values of an estimator's options off their defaults, from the schema that declares them. */
import type {Estimator} from '../attention/index.js'
import type {RandomStream} from '../random/index.js'

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

/** One option as its schema tells of it. */
export interface OptionFacts {
  name: string
  default: unknown
  /**
   * Values off the default: all of an enum, a boolean's other one, and as many random numbers and guards as
   * asked for.
   *
   * @param size - the magnitude at which guards act
   */
  draw(stream: RandomStream, count: number, size: number): unknown[]
}

/** All options of an estimator. */
export function optionFacts({options}: Pick<Estimator, 'options'>): OptionFacts[] {
  return Object.entries(options.shape).map(([name, schema]) => {
    const json = (schema as {toJSONSchema(): Json}).toJSONSchema()
    return {
      name,
      default: json.default,
      draw: (stream, count, size) =>
        valuesOf(name, json, json.default, {stream, count, size}).filter(
          value => value !== json.default,
        ),
    }
  })
}

interface Draw {
  stream: RandomStream
  count: number
  size: number
}

function valuesOf(name: string, json: Json, byDefault: unknown, draw: Draw): unknown[] {
  if (json.anyOf) return json.anyOf.flatMap(part => valuesOf(name, part, byDefault, draw))
  if (json.enum) return [...json.enum]
  if (json.type === 'null') return [null]
  if (json.type === 'boolean') return [true, false]
  if (json.type === 'string' && json.pattern?.includes('clamp')) return guards(draw)
  if (json.type === 'number' || json.type === 'integer') {
    const next = () => numberOf(json, Number(byDefault), draw.stream)
    return Array.from({length: draw.count}, next)
  }
  throw new Error(`${name}: expected a number, boolean, enum or guard, got ${JSON.stringify(json)}`)
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

/**
 * Off the default by a factor between 1/3 and 2/3 or 3/2 and 5/2 (from 0: between 0.1 and 0.5), inside the range; integers
 * between 2 and 5, in steps.
 */
function numberOf(json: Json, byDefault: number, stream: RandomStream): number {
  const {minimum = json.exclusiveMinimum ?? -Infinity} = json
  const {maximum = json.exclusiveMaximum ?? Infinity} = json
  for (;;) {
    const u = stream.uniform()
    const step = json.multipleOf ?? 1
    const x =
      json.type === 'integer'
        ? step * (2 + Math.floor(4 * u))
        : byDefault === 0
          ? 0.1 + 0.4 * u
          : byDefault * (u < 0.5 ? (1 + 2 * u) / 3 : 0.5 + 2 * u)
    if (x > minimum && x < maximum && x !== byDefault) return Number(x.toPrecision(3))
  }
}
