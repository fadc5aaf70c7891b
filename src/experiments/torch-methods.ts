/** Methods as `rfa.torch` has them. */
import type {TransformersModel} from '../model/index.js'
import type {DrawPoint, MethodSpec} from './axes.js'

type Asked = MethodSpec & DrawPoint & {seed: number}

export function torchMethod(cell: Asked) {
  const {method: name, seed, projection, orth_sign, num_features} = cell
  const drawn = projection === null ? {} : {projection, orth_sign}
  const sized = num_features === null ? {} : {num_features}
  return {name, seed, options: {...pythonOptions(cell), ...drawn, ...sized}}
}

function pythonOptions({options}: Pick<Asked, 'options'>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/[A-Z]/g, capital => `_${capital.toLowerCase()}`),
      value,
    ]),
  )
}

/** The stated reason why `rfa.torch` does not have a method as a cell asks for it, if it does not. */
export function whyNotInTorch(
  {engine}: Pick<TransformersModel, 'engine'>,
  cell: Asked,
): string | undefined {
  const {method, preset, projection} = cell
  const known = Object.hasOwn(engine.methods, method) ? engine.methods[method] : undefined
  if (!known) return 'rfa.torch has no such method'
  if (preset !== 'exact') return 'rfa.torch has the exact form only'
  const other = Object.keys(pythonOptions(cell)).find(name => !known.includes(name))
  if (other !== undefined) return `rfa.torch has no option ${other} of it`
  if (projection === null || engine.projections.includes(projection)) return undefined
  return `rfa.torch does not draw ${projection}`
}
