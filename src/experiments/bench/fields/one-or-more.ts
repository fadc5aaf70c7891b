/** Axes that most plans have one value of: that value stays what it was before there were several. */
import {z} from 'zod'
import {distinct} from '../../cells.js'

/** Schema of one value, or of a list. @param item - schema of a value; its description is kept */
export function oneOrMore<Item extends z.ZodType>(item: Item) {
  return z
    .union([item, z.array(item).min(1)])
    .describe(`${item.description ?? ''} A list: each in turn.`.trim())
}

/** The values of such an axis, each once. */
export function valuesOf<Value>(axis: Value | readonly Value[]): Value[] {
  return distinct([axis].flat() as Value[])
}

/** The axis from its values: a single one stands by itself. @param values - at least one */
export function axisOf<Value>(values: readonly Value[]): Value | Value[] {
  const each = distinct(values)
  return each.length === 1 ? each[0]! : each
}
