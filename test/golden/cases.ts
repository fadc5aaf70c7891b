/** Golden cases: a manifest and one .npz of arrays per case. */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import type {HostArray} from '../../src/attention/index.js'
import {readArrays} from '../../src/inputs/files/index.js'
import type {NdArray} from '../../src/inputs/nd-array.js'
import type {HostArrays} from '../helpers/arrays.js'
import type {HostProjection} from '../helpers/twins/index.js'
import {requestOfNotes} from './notes/index.js'
import {type GoldenRequest, goldenRequest, type WrittenRequest} from './request.js'

/** One entry of the manifest. Fields beyond these describe the case in its peer's words. */
export interface GoldenCase {
  name: string
  method: string
  peer: string
  file: string
  /** Arrays that are results. */
  outputs?: string[]
  causal?: boolean
  /** Made from a formula by this project, which needs a `request` then. */
  not_a_peer?: boolean
  /** Tolerance relative to max|out| that the reference itself deserves. */
  rtol?: number
  /** What this library is asked for; without it, what those words say. */
  request?: WrittenRequest
  [field: string]: unknown
}

export function readManifest(folder: string): GoldenCase[] {
  return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as GoldenCase[]
}

/** What a case asks for. */
export function requestOf(golden: GoldenCase, arrays: CaseArrays): GoldenRequest {
  return goldenRequest.parse(golden.request ?? requestOfNotes(golden, arrays))
}

/** The arrays of one case. */
export class CaseArrays {
  /** Names of arrays that results were compared with. */
  readonly compared = new Set<string>()

  constructor(
    private readonly where: string,
    private readonly arrays: ReadonlyMap<string, NdArray>,
  ) {}

  static async read(folder: string, golden: GoldenCase): Promise<CaseArrays> {
    return new CaseArrays(golden.name, (await readArrays(join(folder, golden.file))).arrays)
  }

  has(name: string): boolean {
    return this.arrays.has(name)
  }

  nd(name: string): NdArray {
    const array = this.arrays.get(name)
    if (!array) throw new Error(`${this.where}: has no array ${name}`)
    return array
  }

  /** Elements in double precision. */
  numbers(name: string): Float64Array {
    return Float64Array.from(this.nd(name).data as ArrayLike<number | bigint>, Number)
  }

  shape(name: string): number[] {
    return this.nd(name).shape
  }

  host(name: string): HostArray {
    const shape = this.shape(name)
    if (shape.length !== 4) throw new Error(`${this.where}: ${name} is not [B, H, L, D]`)
    return {shape: shape as [number, number, number, number], data: this.numbers(name)}
  }

  /** An array of any rank under a name of this library's. */
  array(name: string): HostArrays[string] {
    return {shape: this.shape(name), data: this.numbers(name)}
  }

  /** A copy with one array replaced. */
  with(name: string, values: ArrayLike<number>): CaseArrays {
    const {shape} = this.nd(name)
    const data = Float64Array.from(values)
    return new CaseArrays(
      this.where,
      new Map(this.arrays).set(name, {shape, dtype: 'float64', data}),
    )
  }

  /** The projection `W`, `[m, d]` or `[H, m, d]`. */
  projection(): HostProjection | undefined {
    if (!this.has('W')) return undefined
    const shape = this.shape('W')
    const data = this.numbers('W')
    return {data, numFeatures: shape.at(-2)!, perHead: shape.length === 3}
  }

  /** `[B, S]` from the number of keys of each batch element, or from which keys are padding. */
  keyMask(): Float32Array | undefined {
    // the peer's convention: true where a key is padding
    if (this.has('key_padding_mask')) {
      return Float32Array.from(this.numbers('key_padding_mask'), padded => (padded === 0 ? 1 : 0))
    }
    if (!this.has('key_lengths')) return undefined
    const keyLen = this.shape('k')[2]!
    const lengths = this.numbers('key_lengths')
    return Float32Array.from({length: lengths.length * keyLen}, (_, i) =>
      i % keyLen < lengths[Math.floor(i / keyLen)]! ? 1 : 0,
    )
  }
}
