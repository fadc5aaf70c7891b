import type {HostArrays} from '../../helpers/arrays.js'
import {type CaseArrays, type GoldenCase, numberField, textField} from '../cases.js'
import {checkAttention, type Request} from '../check.js'
import type {Family} from './family.js'

/** Our name of each of the peer's arrays. */
const PARAMETERS: Readonly<Record<string, string>> = {
  qbar_lin_w: 'queryWeight',
  qbar_lin_b: 'queryBias',
  qbar_ln_w: 'queryNormWeight',
  qbar_ln_b: 'queryNormBias',
  kbar_lin_w: 'keyWeight',
  kbar_lin_b: 'keyBias',
  kbar_ln_w: 'keyNormWeight',
  kbar_ln_b: 'keyNormBias',
}

const SAMPLING: Readonly<Record<string, string>> = {
  eval: 'mean',
  train: 'single',
  antithetic: 'antithetic',
  multisample: 'multisample',
}

/** Linear randomized attention. The peer pools a grid where the case has one, else segments. */
export const lara: Family = {
  name: 'linear randomized attention',
  methods: ['LARA'],
  request: requestOf,
  check(golden, arrays) {
    checkAttention(golden, arrays, requestOf(golden, arrays))
  },
}

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const generator = textField(golden, 'proposal_gen')
  const grid = Array.isArray(golden.grid) ? (golden.grid as number[]) : undefined
  const sampling = SAMPLING[textField(golden, 'sampling')]
  if (!sampling) throw new Error(`${golden.name}: sampling "${golden.sampling}" is unknown`)
  return {
    method: 'lara',
    preset: 'hku',
    numFeatures: numberField(golden, 'num_landmarks')!,
    options: {
      mis: textField(golden, 'mis_type').replace('mis-', ''),
      alphaCoefficient: numberField(golden, 'alpha_coeff') ?? 1,
      alphaFloor: numberField(golden, 'eps') ?? 1e-8,
      sampling,
      ...(grid && {
        proposals: 'grid',
        gridHeight: grid[0],
        gridWidth: grid[1],
        learnedPlace: 'means',
      }),
      ...(grid && {mixing: mixingOf(generator)}),
    },
    noise: named(arrays, {noise: 'noise'}),
    // on a sequence the peer has learned maps for adaptive-1d only
    parameters: grid || generator === 'adaptive-1d' ? named(arrays, PARAMETERS) : {},
  }
}

function mixingOf(generator: string): string {
  if (generator.endsWith('vmixed')) return 'values'
  return generator.endsWith('mixed') ? 'keys' : 'none'
}

/** The arrays of the case that are named, under our names. */
function named(arrays: CaseArrays, names: Readonly<Record<string, string>>): HostArrays {
  return Object.fromEntries(
    Object.entries(names)
      .filter(([theirs]) => arrays.has(theirs))
      .map(([theirs, ours]) => [ours, {shape: arrays.shape(theirs), data: arrays.numbers(theirs)}]),
  )
}
