/** Projections call by call, as a redraw policy says. */
import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import type {ProjectionRequest} from './index.js'
import {parseRedraw, type RedrawChoice, redrawChoice} from './redraw.js'
import {drawRows, rowsTensor} from './tensor.js'

/** Options of {@link ProjectionSource}: what to draw, and when anew. */
export interface ProjectionSourceOptions extends Omit<ProjectionRequest, 'redraw'> {
  /** `fixed`, `call`, `every:CALLS` or `pool:SIZE`. Default `fixed`. */
  redraw?: string
}

/**
 * Gives the projection of each call on the current backend, for option `projection` of `attention`.
 * What the policy draws once is drawn by the constructor; the rest when its call comes.
 *
 * @throws {BAD_OPTION} for a policy that cannot be read, or a pool smaller than the number of heads
 */
export class ProjectionSource {
  private readonly request: Omit<ProjectionRequest, 'redraw'>
  private readonly policy: ReturnType<typeof parseRedraw>
  private calls = 0
  private drawn: {redraw: number; values: Float32Array}
  private held: {key: string; tensor: tf.Tensor3D} | undefined

  constructor(options: ProjectionSourceOptions) {
    checkObject('ProjectionSource.options', options)
    const {redraw = 'fixed', ...request} = options
    this.request = request
    this.policy = parseRedraw(redraw)
    const {count} = this.choice(true)
    this.drawn = {redraw: 0, values: this.draw(0, count)}
  }

  /** The projection of the next call, `[H, M, D]`; owned by the source and valid until the one after. */
  next(): tf.Tensor3D {
    return this.tensor(this.choice(false, this.calls++))
  }

  /** The projection to evaluate with, `[H, M, D]`: the first draw, the first matrices of a pool. */
  evaluation(): tf.Tensor3D {
    return this.tensor(this.choice(true))
  }

  dispose(): void {
    this.held?.tensor.dispose()
    this.held = undefined
  }

  private choice(evaluation: boolean, call = 0): RedrawChoice {
    return redrawChoice(this.policy, call, {...this.request, evaluation})
  }

  private draw(redraw: number, count: number): Float32Array {
    return drawRows({...this.request, heads: count, redraw})
  }

  private tensor({redraw, count, members}: RedrawChoice): tf.Tensor3D {
    const key = `${redraw}:${members.join()}`
    if (this.held?.key === key) return this.held.tensor
    if (this.drawn.redraw !== redraw) this.drawn = {redraw, values: this.draw(redraw, count)}
    const {heads, numFeatures, headDim} = this.request
    const size = numFeatures * headDim
    const values = new Float32Array(heads * size)
    members.forEach((member, head) => {
      values.set(this.drawn.values.subarray(member * size, (member + 1) * size), head * size)
    })
    this.held?.tensor.dispose()
    this.held = {key, tensor: tf.keep(rowsTensor(values, this.request))}
    return this.held.tensor
  }
}
