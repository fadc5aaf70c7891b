import {type InputsPlan, inputsPlan} from '../../experiments/inputs/schema.js'
import {type FlagValues, inGroup} from '../flags/kinds.js'
import {causalFlags, runFlags, scaleFlag} from '../flags/shared.js'
import {inputFlags, toInputSpec, toLayers, type WithCausal} from './input-spec.js'
import {checkedPlan} from './values.js'

// there is no grid that could be a quick one, and nothing is drawn
const {quick: _, seed: __, ...howToRun} = runFlags

export const inputsFlags = {
  ...inputFlags,
  ...inGroup('INPUT', {scale: scaleFlag(), ...causalFlags}),
  ...howToRun,
}
type InputsFlags = WithCausal<FlagValues<typeof inputsFlags>>

/** The plan of a look at an input. @throws {USAGE} when the flags make no plan */
export function toInputsPlan(flags: InputsFlags): InputsPlan {
  const layers = toLayers(flags)
  return checkedPlan(inputsPlan, {
    experiment: 'inputs',
    input: toInputSpec(flags),
    ...(layers && {layers}),
    ...(flags.scale !== undefined && {logit_scale: flags.scale}),
    causal: flags.causal,
    ...(flags['causal-align'] && {causal_align: flags['causal-align']}),
    seed: 0,
    backend: flags.backend ?? 'auto',
  })
}
