/** How every page begins: by this alone a file is known as one that may be replaced without asking. */
export const PAGE_START = '<!doctype html>\n<!-- written by rfa report -->'
