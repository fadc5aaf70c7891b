/** Fields of plans, and the flags of commands that set them. */
import {z} from 'zod'

/** A part of a JSON Schema, with the flag that its `.meta({flag})` names. */
interface Part {
  flag?: string
  properties?: Record<string, Part>
  items?: Part
  anyOf?: Part[]
  oneOf?: Part[]
}

/**
 * The flag that sets a field of a plan, without dashes: the one that its schema names by `.meta({flag})`, or else its own name.
 *
 * @param path - names from the outside in; numbers are places in a list
 */
export function flagOf(plan: z.ZodType, path: readonly PropertyKey[]): string {
  let parts: Part[] = [z.toJSONSchema(plan) as Part]
  let flag = 'plan'
  for (const step of path) {
    const choices = parts.flatMap(withChoices)
    if (typeof step === 'number') {
      parts = choices.flatMap(({items}) => items ?? [])
      continue
    }
    const name = String(step)
    parts = choices.flatMap(({properties}) => properties?.[name] ?? [])
    const named = parts.flatMap(withChoices).find(part => part.flag !== undefined)
    flag = named?.flag ?? name.replaceAll('_', '-')
  }
  return flag
}

/** A part, and what it may be instead. */
function withChoices(part: Part): Part[] {
  return [part, ...(part.anyOf ?? []), ...(part.oneOf ?? [])]
}
