import type {ActiveBackend} from '../backends/index.js'
import type {ComputedBy} from '../results/record.js'

/** What computes, as records name it. */
export function computedBy({name, instructionSet, threads}: ActiveBackend) {
  return {backend: name, instruction_set: instructionSet, threads} satisfies ComputedBy
}
