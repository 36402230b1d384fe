// Linked with -Wl,--wrap=main: writes the completion word when the program's main has returned 0 in the process that
// was started. The word is taken before any code of the program runs, and by system calls of our own: a program may
// define functions of the C library's names.
#![no_std]

use core::arch::asm;
use core::ptr::addr_of_mut;

extern "C" {
    fn __real_main(count: i32, values: *const *const u8, environment: *const *const u8) -> i32;
}

const NAME: &[u8; 20] = b"CARETBENCH_SENTINEL=";
const SIZE: usize = 64;

static mut WORD: [u8; SIZE] = [0; SIZE];
static mut LENGTH: isize = 0;
static mut ANSWERS: usize = 0;
static mut STARTED: isize = 0;

#[cfg(target_arch = "x86_64")]
mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const GETPID: usize = 39;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const CLOSE: usize = 57;
    pub const GETPID: usize = 172;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn call(number: usize, first: usize, second: *mut u8, third: usize) -> isize {
    let result: isize;
    asm!("syscall", inlateout("rax") number as isize => result, in("rdi") first, in("rsi") second, in("rdx") third,
         lateout("rcx") _, lateout("r11") _, options(nostack));
    result
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn call(number: usize, first: usize, second: *mut u8, third: usize) -> isize {
    let result: isize;
    asm!("svc 0", in("x8") number, inlateout("x0") first as isize => result, in("x1") second, in("x2") third,
         options(nostack));
    result
}

unsafe fn digits(text: &mut *const u8) -> usize {
    let mut value = 0usize;
    while **text >= b'0' && **text <= b'9' {
        value = value.wrapping_mul(10).wrapping_add((**text).wrapping_sub(b'0') as usize);
        *text = (*text).wrapping_add(1);
    }
    value
}

// The word does not lie in memory as it is: it would be found by how it looks.
unsafe fn turn() {
    let word = addr_of_mut!(WORD) as *mut u8;
    let mut place = 0usize;
    while (place as isize) < LENGTH {
        let one = word.wrapping_add(place);
        one.write_volatile(!one.read_volatile());
        place = place.wrapping_add(1);
    }
}

unsafe extern "C" fn take(_count: i32, _values: *mut *mut u8, environment: *mut *mut u8) {
    let mut place = environment;
    while !(*place).is_null() {
        let mut same = 0usize;
        let name = NAME as *const u8;
        while same < NAME.len() && *(*place).wrapping_add(same) == *name.wrapping_add(same) {
            same = same.wrapping_add(1);
        }
        if same == NAME.len() {
            break;
        }
        place = place.wrapping_add(1);
    }
    if (*place).is_null() {
        return;
    }
    let mut text = (*place).wrapping_add(NAME.len()) as *const u8;
    let questions = digits(&mut text);
    text = text.wrapping_add(1);
    ANSWERS = digits(&mut text);
    STARTED = call(number::GETPID, 0, core::ptr::null_mut(), 0);
    LENGTH = call(number::READ, questions, addr_of_mut!(WORD) as *mut u8, SIZE);
    turn();
    call(number::CLOSE, questions, core::ptr::null_mut(), 0);
    while !(*place).is_null() {
        *place = *place.wrapping_add(1);
        place = place.wrapping_add(1);
    }
}

#[used]
#[link_section = ".preinit_array"]
static FIRST: unsafe extern "C" fn(i32, *mut *mut u8, *mut *mut u8) = take;

unsafe fn give() -> bool {
    if LENGTH <= 0 || call(number::GETPID, 0, core::ptr::null_mut(), 0) != STARTED {
        return true;
    }
    turn();
    let given = call(number::WRITE, ANSWERS, addr_of_mut!(WORD) as *mut u8, LENGTH as usize) == LENGTH;
    LENGTH = 0;
    given
}

#[no_mangle]
pub unsafe extern "C" fn __wrap_main(count: i32, values: *const *const u8, environment: *const *const u8) -> i32 {
    let status = __real_main(count, values, environment);
    if status != 0 || give() {
        status
    } else {
        1
    }
}
