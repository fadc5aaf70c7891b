import {z} from 'zod'
import {computedBy} from '../../../src/results/record.js'

type MadeBy = z.infer<z.ZodObject<typeof computedBy>>

/** What a result says of how it was computed: that of a backend which knows nothing else, and what is told. */
export function madeBy(facts: Partial<MadeBy> & Pick<MadeBy, 'backend'>): MadeBy {
  return z.object(computedBy).parse(facts)
}
