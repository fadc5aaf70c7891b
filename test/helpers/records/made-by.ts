import {z} from 'zod'
import {type ComputedBy, computedBy} from '../../../src/results/record.js'

/** What a result says of how it was computed: that of a backend which knows nothing else, and what is told. */
export function madeBy(facts: Partial<ComputedBy> & Pick<ComputedBy, 'backend'>): ComputedBy {
  return z.object(computedBy).parse(facts)
}
