/** What a layer does with the output of attention: a matrix, and the residual stream that the product is added to. */
import {describe, expected} from '../errors.js'
import {type AttentionArray, toAttentionArray} from './attention-input.js'
import {type InputFiles, type OptionalPlace, optionalPlaceOf} from './input-files.js'
import {elementCount, type NdArray, toFloat32} from './nd-array.js'

const [PROJECTION, RESIDUAL_NORM] = ['o', 'residual_norm'] as const

/** Where a file holds them for a layer; absent: it does not. */
export interface OutputPlaces {
  projection: OptionalPlace | undefined
  residualNorm: OptionalPlace | undefined
}

/** The arrays of a layer, or those for all layers. An array `o` of other axes than a matrix is something else. */
export function outputPlacesOf(files: InputFiles, layer: number | undefined): OutputPlaces {
  const projection = optionalPlaceOf(files, layer, PROJECTION)
  return {
    projection: projection?.shape.length === 2 ? projection : undefined,
    residualNorm: optionalPlaceOf(files, layer, RESIDUAL_NORM),
  }
}

/** The matrix and the norm; see `AttentionInput`. */
export interface OutputArrays {
  outputProjection?: AttentionArray
  residualNorm?: number
}

/**
 * Reads them.
 *
 * @param rows - H Dv, that a matrix has to have
 * @param keep - is given what was read
 * @throws {SHAPE_MISMATCH} for a matrix of other rows @throws {NOT_FINITE} for elements that are not finite
 * @throws {BAD_FILE} for a norm that is not one positive number
 */
export async function readOutputs(
  {projection, residualNorm}: OutputPlaces,
  rows: () => number,
  keep: (array: NdArray) => void,
): Promise<OutputArrays> {
  const read = async ({reader, name}: OptionalPlace) => {
    const array = await reader.read(name)
    keep(array)
    return array
  }
  if (projection) checkProjection(projection, rows())
  return {
    ...(projection && {
      outputProjection: toAttentionArray(await read(projection), projection.where),
    }),
    ...(residualNorm && {residualNorm: toNorm(await read(residualNorm), residualNorm.where)}),
  }
}

/** @throws {SHAPE_MISMATCH} for a matrix of other than H Dv rows */
export function checkProjection({shape, where}: OptionalPlace, rows: number): void {
  if (shape[0] === rows && shape[1]! > 0) return
  const what = `the output matrix, with a row for each of the H Dv = ${rows} entries of all heads`
  const remedy =
    shape[1] === rows
      ? 'transpose it: PyTorch keeps weights as [width, H Dv]'
      : 'rename the array if it is something else'
  throw expected('SHAPE_MISMATCH', where, what, describe(shape), remedy)
}

function toNorm(array: NdArray, where: string): number {
  const [norm = Number.NaN] = toFloat32(array)
  if (elementCount(array.shape) === 1 && norm > 0 && Number.isFinite(norm)) return norm
  const what = 'one positive number, the root mean square length of the rows of the residual stream'
  const got = elementCount(array.shape) === 1 ? String(norm) : describe(array.shape)
  throw expected('BAD_FILE', where, what, got)
}
