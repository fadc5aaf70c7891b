/** From tensors to the host: the only place that reads a tensor's data. */
import {tf} from '../tf.js'

/** What {@link hostData} gives for each tensor: its data in row-major order, nothing for an absent one. */
export type HostData<Named> = {
  [Name in keyof Named]: Named[Name] extends tf.Tensor
    ? tf.TypedArray
    : tf.TypedArray | Extract<Named[Name], undefined>
}

/**
 * Computes tensors, reads them and frees whatever was made on the way; tensors from elsewhere stay.
 *
 * The data leave `tf.tidy` through a variable: it searches what it returns for tensors, and in a typed array
 * that means a visit under a string key to every element, at many times the cost of the attention itself.
 *
 * @param compute - makes the tensors, by name
 * @returns their data, by the same names
 */
export function hostData<Named extends Record<string, tf.Tensor | undefined>>(
  compute: () => Named,
): HostData<Named> {
  let data: HostData<Named> | undefined
  tf.tidy(() => {
    const read = Object.entries(compute()).map(([name, tensor]) => [name, tensor?.dataSync()])
    data = Object.fromEntries(read) as HostData<Named>
  })
  return data!
}
