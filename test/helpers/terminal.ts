/** A terminal that shows every column of most tables. */
export const WIDE = {width: 120, colour: false}
