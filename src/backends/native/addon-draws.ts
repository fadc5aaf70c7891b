/** Random draws of the addon; arrays and sizes are checked in `draws.ts`. See `native/random.h`. */
import type {NormalBlocksCall, OrthogonalRowsCall} from '../../host-loops.js'

export interface DrawsAddon {
  /**
   * @param stream - six words: key, counter of the first block
   * @returns the normal after an odd number of them, else 0
   */
  normals(stream: Uint32Array, out: Float64Array | Float32Array): number
  normalBlocks(call: NormalBlocksCall): void
  orthogonalRows(call: OrthogonalRowsCall): void
  /** In place. @param matrix - `[rows, columns]`, rows <= columns */
  orthonormalizeRows(matrix: Float64Array, columns: number): void
}
