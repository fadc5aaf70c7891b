/** Tokens of a text that a swap can judge: a causal model has to predict one from another. */
export function leastTokens({causal}: {causal: boolean}): number {
  return causal ? 2 : 1
}
