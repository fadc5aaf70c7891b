/** Pairs of vectors at which kernel estimates are held against what is declared of them. */
import {normals, randomStream} from '../../random/index.js'
import type {Subject} from '../types.js'

export interface Pair {
  label: string
  x: Float64Array
  y: Float64Array
  /** Another key, for ratios. */
  other: Float64Array
}

/** Of these a plain mean says enough: estimates of exponentials grow heavy tails with the lengths. */
const SHORT = [
  {headDim: 2, xLength: 0.5, yLength: 0.5},
  {headDim: 3, xLength: 0.5, yLength: 0.1},
  {headDim: 5, xLength: 0.3, yLength: 0.45},
  {headDim: 11, xLength: 0.2, yLength: 0.5},
] as const

/** Shorter ones, for squares. */
const SHORTEST = [
  {headDim: 3, xLength: 0.3, yLength: 0.2},
  {headDim: 8, xLength: 0.2, yLength: 0.3},
] as const

/** At these a factor on |x|^2 shows: acute and obtuse angles, in degrees, that float32 and chance both decide. */
const LONG = [
  {xLength: 1, yLength: 1.5, angle: 60},
  {xLength: 1, yLength: 1.5, angle: 120},
  {xLength: 1.5, yLength: 1, angle: 75},
  {xLength: 1.5, yLength: 1, angle: 105},
] as const
const LONG_DIM = 4

/** Pairs in seeded directions: `short` ones for means, `shortest` ones for variances. */
export function shortPairs({seed}: Subject, kind: 'short' | 'shortest'): Pair[] {
  return (kind === 'short' ? SHORT : SHORTEST).map(({headDim, xLength, yLength}) => ({
    label: `D=${headDim} |x|=${xLength} |y|=${yLength}`,
    x: vector(direction(`x${headDim}.${seed}`, headDim), xLength),
    y: vector(direction(`y${headDim}.${seed}`, headDim), yLength),
    other: vector(direction(`z${headDim}.${seed}`, headDim), 0.4),
  }))
}

/** Pairs of norms 1 and 1.5 in a seeded plane; the other key is short, and obtuse where the first is acute. */
export function longPairs({seed}: Subject): Pair[] {
  return LONG.map(({xLength, yLength, angle}) => {
    const first = direction(`x.${xLength}.${angle}.${seed}`, LONG_DIM)
    const raw = direction(`y.${xLength}.${angle}.${seed}`, LONG_DIM)
    const along = raw.reduce((sum, each, at) => sum + each * first[at]!, 0)
    const second = unit(raw.map((each, at) => each - along * first[at]!))
    const turned = (degrees: number, length: number) => {
      const [cosine, sine] = [Math.cos, Math.sin].map(f => f((degrees * Math.PI) / 180))
      const mixed = first.map((each, at) => cosine! * each + sine! * second[at]!)
      return vector(mixed, length)
    }
    return {
      label: `D=${LONG_DIM} |x|=${xLength} |y|=${yLength} at ${angle} degrees`,
      x: vector(first, xLength),
      y: turned(angle, yLength),
      other: turned(180 - angle, 0.5),
    }
  })
}

/** A seeded unit vector. */
function direction(name: string, headDim: number): Float64Array {
  return unit(Float64Array.from(normals(randomStream(77, name), headDim)))
}

function unit(raw: Float64Array): Float64Array {
  const norm = Math.hypot(...raw)
  return raw.map(each => each / norm)
}

/** Rounded to float32. */
function vector(towards: Float64Array, length: number): Float64Array {
  return towards.map(each => Math.fround(each * length))
}
