/** Distances between rows of attention weights, gathered tile by tile of keys. */

export interface RowMetrics {
  row_kl_nats: number
  row_total_variation: number
  row_kl_infinite_pct: number
  row_top1_agreement: number
  row_top8_agreement: number
}

/** Largest k of the agreement of the k largest weights. */
const MOST_TOP = 8

/** The largest weights of each row, largest first; of equal ones the first key goes first. */
class Largest {
  private readonly weights: Float64Array
  private readonly places: Int32Array

  constructor(rows: number) {
    this.weights = new Float64Array(rows * MOST_TOP).fill(Number.NEGATIVE_INFINITY)
    this.places = new Int32Array(rows * MOST_TOP).fill(-1)
  }

  /** Keys come in ascending order. */
  add(row: number, weight: number, key: number): void {
    const {weights, places} = this
    const first = row * MOST_TOP
    let at = first + MOST_TOP - 1
    if (!(weight > weights[at]!)) return
    while (at > first && weight > weights[at - 1]!) {
      weights[at] = weights[at - 1]!
      places[at] = places[at - 1]!
      at--
    }
    weights[at] = weight
    places[at] = key
  }

  /** The keys of a row's k largest weights, or of all where there are fewer. */
  of(row: number, k: number): Int32Array {
    const own = this.places.subarray(row * MOST_TOP, row * MOST_TOP + k)
    const end = own.indexOf(-1)
    return end < 0 ? own : own.subarray(0, end)
  }
}

/** The largest exact weights of each row, gathered tile by tile for the {@link RowDistances} of replicates. */
export class ExactRows {
  readonly largest: Largest

  constructor(readonly rows: number) {
    this.largest = new Largest(rows)
  }

  /** Takes the weights of the keys from `first` on, `[rows, keys]`. */
  add(weights: Float64Array, keys: number, first: number): void {
    for (let at = 0; at < this.rows * keys; at++) {
      const weight = weights[at]!
      if (weight > 0) this.largest.add(Math.floor(at / keys), weight, first + (at % keys))
    }
  }
}

/** Bytes that the distances of one replicate hold for each row: two doubles, a flag, and the largest weights. */
export const DISTANCE_BYTES = 8 + 8 + 1 + MOST_TOP * (8 + 4)

/**
 * Compares rows of estimated weights with exact ones.
 *
 * KL divergence of the exact row from the estimated one is infinite where an estimated weight is
 * not positive while the exact one is; such rows are counted and left out of the mean. Exact weights
 * below 2^-24 of the row count as zero: a float32 estimate cannot distinguish them from zero.
 *
 * Agreement of the k largest: the share of the k keys of largest exact weight that are among those of largest
 * estimated weight, of the keys that the row sees; of rows that see fewer than k, all are.
 */
export class RowDistances {
  private readonly divergence: Float64Array
  private readonly variation: Float64Array
  private readonly infinite: Uint8Array
  private readonly largest: Largest

  constructor(private readonly rows: number) {
    this.divergence = new Float64Array(rows)
    this.variation = new Float64Array(rows)
    this.infinite = new Uint8Array(rows)
    this.largest = new Largest(rows)
  }

  /** Takes the weights of the keys from `first` on, both `[rows, keys]`. */
  add(estimate: ArrayLike<number>, exact: Float64Array, keys: number, first: number): void {
    for (let row = 0; row < this.rows; row++) {
      let divergence = 0
      let difference = 0
      for (let key = 0; key < keys; key++) {
        const p = exact[row * keys + key]!
        const q = estimate[row * keys + key]!
        difference += Math.abs(p - q)
        if (p > 0) this.largest.add(row, q, first + key)
        if (!(p > 2 ** -24)) continue
        if (q > 0) divergence += p * Math.log(p / q)
        else this.infinite[row] = 1
      }
      this.divergence[row]! += divergence
      this.variation[row]! += difference / 2
    }
  }

  /**
   * Means over rows.
   *
   * @param exact - has taken the same tiles
   * @param weightOf - how much a row counts. Default: as much as any
   */
  metrics(exact: ExactRows, weightOf: (row: number) => number = () => 1): RowMetrics {
    const {rows} = this
    const values = this.values(exact)
    const mean = (own: Float64Array, counts = (_: number) => true) => {
      let [sum, weight] = [0, 0]
      for (let row = 0; row < rows; row++) {
        if (!counts(row)) continue
        sum += weightOf(row) * own[row]!
        weight += weightOf(row)
      }
      return sum / weight // of no row NaN
    }
    const {row_kl_nats: divergence} = values
    return {
      row_kl_nats: mean(divergence, row => !Number.isNaN(divergence[row])),
      row_total_variation: mean(values.row_total_variation),
      row_kl_infinite_pct: mean(divergence.map(own => (Number.isNaN(own) ? 100 : 0))),
      row_top1_agreement: mean(values.row_top1_agreement),
      row_top8_agreement: mean(values.row_top8_agreement),
    }
  }

  /** Of each row; a divergence that is infinite is `NaN`. @param exact - has taken the same tiles */
  values(exact: ExactRows): Record<Exclude<keyof RowMetrics, 'row_kl_infinite_pct'>, Float64Array> {
    const {divergence, infinite} = this
    return {
      row_kl_nats: divergence.map((own, row) =>
        infinite[row] || !Number.isFinite(own) ? Number.NaN : own,
      ),
      row_total_variation: this.variation,
      row_top1_agreement: this.agreements(exact, 1),
      row_top8_agreement: this.agreements(exact, MOST_TOP),
    }
  }

  private agreements(exact: ExactRows, k: number): Float64Array {
    return Float64Array.from({length: this.rows}, (_, row) => {
      const wanted = exact.largest.of(row, k)
      const found = this.largest.of(row, k)
      const right = wanted.filter(key => found.includes(key)).length
      return wanted.length === 0 ? 1 : right / wanted.length // a row without weights
    })
  }
}
