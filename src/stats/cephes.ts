/**
 * Special functions of Moshier's Cephes library, compiled to WebAssembly by the package `cephes`: loaded by the first
 * tail that is asked for, since most of what imports statistics asks for none.
 *
 * Source: Moshier 1989, "Methods and Programs for Mathematical Functions"; netlib.org/cephes.
 */
import {requirePackage} from '../tf.js'

interface Cephes {
  /** Regularised incomplete beta function I_x(a, b). */
  incbet(a: number, b: number, x: number): number
  /** Logarithm of the gamma function. */
  lgam(x: number): number
  /** Complementary error function. */
  erfc(x: number): number
  /** Digamma function. */
  psi(x: number): number
  /** Hurwitz zeta function: the sum of (q + k)^-s over k from 0. */
  zeta(s: number, q: number): number
}

let loaded: Cephes | undefined

/**
 * Of its functions those that are used here. Arguments are finite, in their domain, and give no number below the smallest
 * double: the package then throws through its compiled code, which is left without a part of its stack and, after some hundred
 * times, computes wrong numbers.
 */
export function cephes<Name extends keyof Cephes>(name: Name, ...args: Parameters<Cephes[Name]>) {
  loaded ??= requirePackage('cephes') as Cephes
  return (loaded[name] as (...args: number[]) => number)(...args)
}
