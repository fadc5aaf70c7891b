/** Names of estimators that others register, for the types of attention. */
import type {z} from 'zod'

/**
 * Estimators of one's own by their names, for the types of `attention({method: 'my-name'})`: empty here, and declared by
 * whoever registers one.
 *
 * ```ts
 * declare module 'rfa' {
 *   interface RegisteredMethods {
 *     'my-name': typeof myEstimator
 *   }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: others add to it, which a type does not let them
export interface RegisteredMethods {}

declare const schema: unique symbol

/** The name of a registered estimator, which carries the types of its options. */
export type RegisteredName<Schema extends z.ZodObject = z.ZodObject> = string & {
  readonly [schema]: Schema
}
