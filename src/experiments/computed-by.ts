import type {ActiveBackend} from '../backends/index.js'
import type {ComputedBy} from '../results/record.js'
import type {CellContext} from './experiment.js'

/** What computes, as records name it. */
export function computedBy(
  {name, instructionSet, threads}: ActiveBackend,
  {processes = 1}: CellContext = {},
) {
  return {backend: name, instruction_set: instructionSet, threads, processes} satisfies ComputedBy
}
