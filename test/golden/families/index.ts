import type {GoldenCase} from '../cases.js'
import {cosformer} from './cosformer.js'
import {dpfp} from './dpfp.js'
import {efficient} from './efficient.js'
import {elu} from './elu.js'
import {eva} from './eva.js'
import type {Family} from './family.js'
import {favorHyperbolicFamily} from './favor-hyperbolic.js'
import {favorPositiveFamily} from './favor-positive.js'
import {favorTrigonometricFamily} from './favor-trigonometric.js'
import {generalizedAttention} from './generalized-attention.js'
import {lara} from './lara.js'
import {linformer} from './linformer.js'
import {oprf} from './oprf.js'
import {projections} from './projections.js'
import {randomizedFamily} from './randomized.js'
import {rfa} from './rfa.js'
import {rfaArccos} from './rfa-arccos.js'
import {rfaGate} from './rfa-gate.js'
import {simplexFamily} from './simplex.js'
import {softmax} from './softmax.js'
import {squaredRelu} from './squared-relu.js'

export const FAMILIES: readonly Family[] = [
  softmax,
  elu,
  cosformer,
  dpfp,
  squaredRelu,
  efficient,
  favorPositiveFamily,
  favorHyperbolicFamily,
  oprf,
  favorTrigonometricFamily,
  generalizedAttention,
  rfa,
  eva,
  linformer,
  rfaArccos,
  rfaGate,
  randomizedFamily,
  lara,
  projections,
  simplexFamily,
]

/** The family of a case. */
export function familyOf({method}: Pick<GoldenCase, 'method'>): Family | undefined {
  return FAMILIES.find(({methods}) => methods.includes(method))
}
