// What a board lends to the rest of the page, by what it shows: `run` or `comparison`. The board of a tab is there
// only once that tab was opened, so whoever needs it waits.

const loans = {};

function loanOf(what) {
  if (!loans[what]) {
    loans[what] = { board: null };
    loans[what].comes = new Promise((resolve) => { loans[what].lend = resolve; });
  }
  return loans[what];
}

function lend(what, board) {
  loanOf(what).board = board;
  loanOf(what).lend(board);
}

const borrow = (what) => loanOf(what).comes;
const lent = (what) => loanOf(what).board;
