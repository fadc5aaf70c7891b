/** Learned parameters of attention, as `rfa tune` leaves them. */
import type {PresetName, ProjectionName} from '../attention/names.js'

/** What can be learned: a factor on queries and keys, maps of both, random vectors, or maps and random vectors. */
export const LEARNED = ['temperature', 'maps', 'rows', 'maps,rows'] as const
export type Learned = (typeof LEARNED)[number]

/** What is learned for: outputs close to those of exact attention, or its rows of weights. */
export const LOSSES = ['outputs', 'rows'] as const
export type Loss = (typeof LOSSES)[number]

/** What was learned for one draw, or for all draws. */
export interface TunedParameters {
  /** `[H, D, D]`: queries are multiplied by it, `q @ map`; the identity where it was not learned. */
  queryMap: Float32Array<ArrayBuffer>
  /** `[Hkv, D, D]`: the same of keys. */
  keyMap: Float32Array<ArrayBuffer>
  /** `[H, M, D]`: random vectors, as attention takes a `projection`; absent: they were not learned, and are drawn. */
  projection?: Float32Array<ArrayBuffer> | undefined
}

/** Errors of a layer on tokens that nothing was learned from. */
export interface HeldOut {
  before: number
  after: number
}

/** What was learned for a layer. */
export interface TunedLayer {
  /** Its number, as in the files of inputs and in models; `undefined`: the arrays belonged to no layer. */
  layer: number | undefined
  /** beta: logits are `beta q.k`. */
  scale: number
  heldOut: HeldOut | null
  /** With learned random vectors a set for each draw, else one that serves all draws. */
  sets: readonly TunedParameters[]
}

/** Learned parameters of one method, for one layer or several. */
export interface Tuned {
  method: string
  preset: PresetName
  /** Options that differ from the preset. */
  options: Readonly<Record<string, string | number | boolean>>
  /** How random vectors were drawn; `null`: the method takes none. */
  projection: ProjectionName | null
  /** M; `null`: the method has none. */
  numFeatures: number | null
  causal: boolean
  heads: number
  /** Hkv, heads of keys; H is a multiple of it. */
  keyHeads: number
  headDim: number
  learned: Learned
  loss: Loss
  /** Whether each layer was learned with those before it exchanged. */
  sequential: boolean
  seed: number
  /** Name of the model that the queries and keys come from; `null`: unknown. */
  model: string | null
  /** By their numbers, in ascending order. */
  layers: readonly TunedLayer[]
}

/** The same, read from a file. */
export interface TunedFile extends Tuned {
  path: string
  /** SHA-256 of its bytes, in hex. */
  digest: string
}

/** Whether random vectors were learned: then there is a set for each draw. */
export function hasLearnedRows({learned}: Pick<Tuned, 'learned'>): boolean {
  return learned === 'rows' || learned === 'maps,rows'
}
