/** What is compared with the peers: methods at lengths, as cells of a benchmark. */
import type {MethodSpec} from '../../src/experiments/axes.js'
import {benchGrid, PEER_BYTES} from '../../src/experiments/bench/grid.js'
import type {PeerForms} from '../../src/experiments/bench/measure/peers/peer-process.js'
import type {BenchCell, BenchPlan, TimingProtocol} from '../../src/experiments/bench/schema.js'
import type {PredictedCell} from '../../src/experiments/experiment.js'

/** 8 heads of D = Dv = 64, batch 1. */
const SHAPE = {batch: 1, heads: 8, head_dim: 64, value_dim: 64}
/** M of FAVOR+: F = 256. Sin/cos features take half of the rows, to the same F. */
export const NUM_FEATURES = 256

/** What to compare, smaller for a quick look. */
export interface Axes {
  /** L of all methods except those with other lengths. */
  lengths: readonly number[]
  /** Further L of linear methods. */
  longer: readonly number[]
  /** Tokens that are decoded. */
  decoded: readonly number[]
}

export const FULL: Axes = {lengths: [512, 2048, 8192], longer: [16384], decoded: [512, 4096]}
export const QUICK: Axes = {lengths: [512], longer: [], decoded: [512]}

/** A method, and what of this package computes it. */
interface Compared {
  /** As the tables call it. */
  name: string
  spec: MethodSpec
  /** What decodes it: a cache has no tiles. `null`: nothing. */
  decoder: string | null
  /** Rows w and -w are what a package of FAVOR+ stores one of. */
  draw?: Pick<BenchPlan, 'projections' | 'num_features'>
  /** Whether it is timed at the further lengths. */
  longer?: boolean
  /** Longest L. */
  most?: number
}

const exact = (method: string): MethodSpec => ({method, preset: 'exact', options: {}})
const METHODS: readonly Compared[] = [
  {name: 'softmax', spec: exact('softmax-online'), decoder: 'softmax'},
  {
    ...{name: 'favor-pos', spec: exact('favor-pos'), decoder: 'favor-pos', longer: true},
    draw: {projections: ['antithetic'], num_features: [NUM_FEATURES]},
  },
  {
    ...{name: 'rfa', spec: exact('rfa'), decoder: 'rfa'},
    draw: {projections: ['orth'], num_features: [NUM_FEATURES / 2]},
  },
  {name: 'elu', spec: exact('elu'), decoder: 'elu', longer: true},
  {
    ...{name: 'efficient', decoder: null},
    spec: {method: 'efficient', preset: 'linear-attention-transformer', options: {}},
    // its causal form at its peer holds a D x D matrix per token
    most: 2048,
  },
]

/** A method at one length. */
export interface PeerCase {
  kind: 'attention' | 'decode'
  method: string
  /** This package's part. */
  own: PredictedCell<BenchCell>
}

/** How all of them are timed. */
export interface Setting {
  timing: TimingProtocol
  threads: number
}

/** All cases in the order of the tables. */
export async function peerCases(axes: Axes, setting: Setting): Promise<PeerCase[]> {
  const passes = METHODS.flatMap(compared =>
    [false, true].map(causal => {
      const {most = Number.POSITIVE_INFINITY} = compared
      const all = [...axes.lengths, ...(compared.longer ? axes.longer : [])]
      const seq_lens = all.filter(length => length <= most)
      return casesOf('attention', compared, {...setting, seq_lens, causal})
    }),
  )
  const decoded = METHODS.flatMap(({decoder, ...compared}) =>
    axes.decoded.map(async (tokens): Promise<PeerCase[]> => {
      if (decoder === null) return []
      const spec = {...compared.spec, method: decoder}
      const plan = {...setting, mode: 'decode' as const, seq_lens: [tokens], causal: true}
      return casesOf('decode', {...compared, spec}, plan)
    }),
  )
  return (await Promise.all([...passes, ...decoded])).flat()
}

async function casesOf(
  kind: PeerCase['kind'],
  {name, spec, draw = {projections: ['orth'], num_features: [1]}}: Omit<Compared, 'decoder'>,
  setting: Pick<BenchPlan, 'mode' | 'seq_lens' | 'causal' | 'timing' | 'threads'>,
): Promise<PeerCase[]> {
  const grid = await benchGrid({
    ...{experiment: 'bench', methods: [spec], ...draw, orth_sign: 'haar', redraw: 'fixed'},
    ...{...SHAPE, order: 'listed', seed: 0, backend: 'native', ...setting},
  })
  const jobs = await grid.jobs()
  return Array.from(jobs, own => ({kind, method: name, own}))
}

/** The forms that a peer has of a case, as cells. */
export function cellsOfPeer(
  {own}: PeerCase,
  peer: string,
  {forms, preset}: PeerForms,
): PredictedCell<BenchCell>[] {
  return forms.map(form => {
    const name = `${peer} ${form}`
    const cell: BenchCell = {...own.cell, backend: 'auto', preset, peer: name}
    const predictedBytes = own.predictedBytes + PEER_BYTES
    return {...own, cell, label: `${own.label} on ${name}`, predictedBytes}
  })
}
