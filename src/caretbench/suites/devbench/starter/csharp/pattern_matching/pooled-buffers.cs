using System;
using System.Buffers;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Text;

/// <summary>
/// Looks through uploads block by block. The blocks hold personal data: a buffer goes back to its pool cleared.
/// </summary>
public sealed class UploadInspector
{
    private const int BlockSize = 16;
    private readonly ArrayPool<byte> pool;

    public UploadInspector(ArrayPool<byte> pool)
    {
        this.pool = pool;
    }

    public int CountLines(Stream upload)
    {
        byte[] block = pool.Rent(BlockSize);
        try
        {
            int lines = 0;
            for (int read = upload.Read(block, 0, BlockSize); read > 0; read = upload.Read(block, 0, BlockSize))
            {
                foreach (byte value in block.AsSpan(0, read))
                {
                    lines += value == '\n' ? 1 : 0;
                }
            }
            return lines;
        }
        finally
        {
            pool.Return(block, clearArray: true);
        }
    }

    public bool IsAscii(Stream upload)
    {
        byte[] block = pool.Rent(BlockSize);
        try
        {
            bool ascii = true;
            for (int read = upload.Read(block, 0, BlockSize); read > 0; read = upload.Read(block, 0, BlockSize))
            {
                foreach (byte value in block.AsSpan(0, read))
                {
                    ascii &= value < 0x80;
                }
            }
            return ascii;
        }
        finally
        {
            pool.Return(block, clearArray: true);
        }
    }

    /// <summary>The number of bytes of the longest line, without its line feed.</summary>
    public int LongestLine(Stream upload)
    {
⟦        byte[] block = pool.Rent(BlockSize);
        try
        {
            int longest = 0;
            int length = 0;
            for (int read = upload.Read(block, 0, BlockSize); read > 0; read = upload.Read(block, 0, BlockSize))
            {
                foreach (byte value in block.AsSpan(0, read))
                {
                    length = value == '\n' ? 0 : length + 1;
                    longest = Math.Max(longest, length);
                }
            }
            return longest;
        }
        finally
        {
            pool.Return(block, clearArray: true);
        }
⟧    }
}
⟦tests⟧

public sealed class CountingPool : ArrayPool<byte>
{
    private readonly HashSet<byte[]> lent = new HashSet<byte[]>();

    public int Lent => lent.Count;
    public int Rents { get; private set; }
    public int ClearedReturns { get; private set; }

    public override byte[] Rent(int minimumLength)
    {
        Rents++;
        var block = new byte[minimumLength * 2];
        for (int i = 0; i < block.Length; i++)
        {
            block[i] = 0xEE;
        }
        lent.Add(block);
        return block;
    }

    public override void Return(byte[] array, bool clearArray = false)
    {
        Debug.Assert(lent.Remove(array), "returned what was not lent");
        ClearedReturns += clearArray ? 1 : 0;
    }
}

public sealed class BrokenStream : MemoryStream
{
    public override int Read(byte[] buffer, int offset, int count)
    {
        throw new IOException("connection lost");
    }

    public override int Read(Span<byte> buffer)
    {
        throw new IOException("connection lost");
    }
}

public static class Program
{
    public static void Main()
    {
        var pool = new CountingPool();
        var inspector = new UploadInspector(pool);
        Func<string, int> longest = text => inspector.LongestLine(new MemoryStream(Encoding.UTF8.GetBytes(text)));

        Debug.Assert(longest("") == 0);
        Debug.Assert(longest("\n\n\n") == 0);
        Debug.Assert(longest("name;mail") == 9);
        Debug.Assert(longest("a\nbcd\nef\n") == 3);
        Debug.Assert(longest("a\nbcd\nefghi") == 5);
        Debug.Assert(longest(new string('x', 15) + "\n" + new string('y', 40) + "\nz") == 40);
        Debug.Assert(longest(new string('x', 16) + "\n") == 16);
        Debug.Assert(longest("Zoë\n") == 4);
        Debug.Assert(pool.Rents == 8 && pool.Lent == 0 && pool.ClearedReturns == 8);

        bool failed = false;
        try
        {
            inspector.LongestLine(new BrokenStream());
        }
        catch (IOException)
        {
            failed = true;
        }
        Debug.Assert(failed && pool.Lent == 0 && pool.ClearedReturns == 9);
        Debug.Assert(inspector.CountLines(new MemoryStream(Encoding.UTF8.GetBytes("a\nb\n"))) == 2);
    }
}
